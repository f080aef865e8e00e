"""`python -m gpuopt` is the command line."""

from gpuopt.cli import main

if __name__ == "__main__":
    main()
