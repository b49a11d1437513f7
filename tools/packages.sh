# Debian packages, by what needs them. Sourced by the other tools.

build_packages=(libnice-dev libssl-dev libsrtp2-dev libxcb1-dev libxcb-shm0-dev libxcb-randr0-dev libxcb-xfixes0-dev libxcb-damage0-dev
    libxcb-xinput-dev libxcb-composite0-dev libxcb-res0-dev libxcb-xtest0-dev libvpx-dev libaom-dev libyuv-dev libpng-dev
    libfreetype-dev libopus-dev libpulse-dev libsamplerate0-dev libsndfile1-dev libsodium-dev libqrencode-dev pkg-config)

# An X server and fonts for the demo desktop.
demo_packages=(xvfb xfonts-base fonts-dejavu-core fonts-dejavu-extra fonts-liberation)

# Receivers, judges and X servers that others wrote.
test_packages=("${demo_packages[@]}" ffmpeg gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good
    gstreamer1.0-plugins-bad gstreamer1.0-x mkvtoolnix mpv vlc-bin vlc-plugin-base vlc-plugin-video-output tshark xserver-xorg-core xserver-xorg-video-dummy xwayland weston tigervnc-standalone-server
    x11-xserver-utils x11-apps xauth xdotool xterm openbox xserver-xephyr i3lock libpam-wrapper iproute2 passwd python3
    pulseaudio pulseaudio-utils pipewire pipewire-pulse wireplumber dbus-daemon espeak-ng opus-tools sound-theme-freedesktop zbar-tools)

# WebRTC stacks and browsers that others wrote.
counterpart_packages=(chromium chromium-driver firefox-esr openssl nginx-light coturn nftables iproute2 python3 python3-venv python3-websockets
    python3-gi python3-dbus libnotify-bin dunst dbus dbus-daemon procps python3-gst-1.0 gir1.2-gst-plugins-base-1.0 gir1.2-gst-plugins-bad-1.0 gstreamer1.0-plugins-base
    gstreamer1.0-plugins-good gstreamer1.0-plugins-bad gstreamer1.0-nice golang-go golang-github-pion-webrtc.v3-dev janus)

# Builds what of them is not packaged, below .build.
build_counterparts() {
    if ! cmp -s Tests/Counterparts/requirements.txt .build/counterparts/requirements.txt; then
        rm -rf .build/counterparts
        /usr/bin/python3 -m venv .build/counterparts
        .build/counterparts/bin/pip install --quiet --requirement Tests/Counterparts/requirements.txt
        ln -s "$PWD"/.build/counterparts/lib/python3*/site-packages/imageio_ffmpeg/binaries/ffmpeg-linux-* \
            .build/counterparts/bin/ffmpeg
        cp Tests/Counterparts/requirements.txt .build/counterparts/
    fi
    Tests/Counterparts/pion/build.sh .build/pion
}

# The one configuration of checks and tests: optimised, testable, with all checks. Programs that are shipped or measured are built without
# these, elsewhere: a change of arguments compiles all packages again.
test_build=(--scratch-path .build/tests --configuration release -Xswiftc -enable-testing -Xswiftc -assert-config -Xswiftc Debug
    -Xswiftc -DDEBUG)
test_products=.build/tests/release

# Builds all tests, and all programs of the package.
build_tests() {
    export ORIEL_WARNINGS_AS_ERRORS=1
    swift build "${test_build[@]}" --build-tests --explicit-target-dependency-import-check error
}

# need_packages [--yes] PACKAGE…: installs what is missing, after showing the list and asking once.
need_packages() {
    local yes=false
    if [ "$1" = --yes ]; then yes=true; shift; fi
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return
    echo "These Debian packages are missing:" >&2
    printf '  %s\n' "${missing[@]}" >&2
    if ! $yes; then
        local answer
        read -r -p "Install them now? [y/N] " answer || answer=n
        case $answer in y | Y | yes) ;; *) echo "Nothing installed; Oriel needs them." >&2; return 1 ;; esac
    fi
    local as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        "${missing[@]}" > /dev/null
}

need_swift() {
    command -v swift > /dev/null && return
    echo "No Swift toolchain: install Swift 6.2 or later from https://www.swift.org/install/linux and try again." >&2
    return 1
}
