extension CursorShape {
    /// A plain arrow, for servers that do not give the image of the pointer.
    package static let arrow: CursorShape = {
        let art = [
            "#           ",
            "##          ",
            "#o#         ",
            "#oo#        ",
            "#ooo#       ",
            "#oooo#      ",
            "#ooooo#     ",
            "#oooooo#    ",
            "#ooooooo#   ",
            "#oooooooo#  ",
            "#ooooooooo# ",
            "#oooooo#####",
            "#ooo#oo#    ",
            "#oo##oo#    ",
            "#o#  #oo#   ",
            "##   #oo#   ",
            "#     #oo#  ",
            "      #oo#  ",
            "       ##   ",
        ]
        let pixels = art.flatMap { row in
            row.utf8.map { dot -> UInt32 in
                switch dot {
                case UInt8(ascii: "#"): 0xff00_0000
                case UInt8(ascii: "o"): 0xffff_ffff
                default: 0
                }
            }
        }
        return CursorShape(hotspotX: 0, hotspotY: 0, width: 12, height: art.count, pixels: pixels)
    }()
}
