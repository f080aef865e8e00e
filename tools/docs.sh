#!/bin/sh
# docs.sh: the site into build/docs, without network; called by ./dev docs, which installs Sphinx first. Every warning is an error, and
# every link between pages has to lead somewhere.
set -eu
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
export PATH
rm -rf build/docs build/docs-trees
python -m sphinx -b html -W --keep-going -q -d build/docs-trees docs build/docs "$@"
echo "written: build/docs/index.html"
