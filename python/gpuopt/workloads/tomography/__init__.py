"""Back projection and projectors of computed tomography (Jang 2009)."""
