#!/bin/sh
# Builds pion_viewer, pion_load, pion_session and pion_attack into the directory OUT, from Debian's golang-github-pion-webrtc.v3-dev.
# Usage: build.sh OUT
set -eu
mkdir -p "$1"
out=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
path=$(mktemp -d)
trap 'rm -rf "$path"' EXIT
mkdir "$path/src"
cp -r "$here" "$path/src/peers"
export GO111MODULE=off GOFLAGS= GOPATH="$path:/usr/share/gocode"
export GOCACHE="${GOCACHE:-${XDG_CACHE_HOME:-${HOME:-$path}/.cache}/go-build}"
cd "$path/src/peers"
go build -trimpath -o "$out/pion_viewer" .
go build -trimpath -o "$out/pion_load" ./load
go build -trimpath -o "$out/pion_session" ./session
go build -trimpath -o "$out/pion_attack" ./attack
