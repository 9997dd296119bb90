#!/bin/sh
# Installs wheels of NVIDIA as tests/guest/venv.sh does, and links DIRECTORY/nvidia to their libraries. A ctest fixture.
# Usage: wheels.sh DIRECTORY PYTHON PACKAGE...
set -u
"$(dirname "$0")/../guest/venv.sh" "$@" || exit
for place in "$1"/lib/python*/site-packages/nvidia; do
	ln -sfn "$place" "$1/nvidia"
done
