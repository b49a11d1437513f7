import Testing

@Suite struct PageScriptTests {
    @Test func aPageIsReadInSections() throws {
        let page = """
            # Title

            Text with `oriel status`.

            ```console
            $ oriel share
            http://192.0.2.7:8080/#…

            …
            $ oriel status
            ```

            ## Next

            <!-- test: start; viewer Ann -->
            ```sh host=192.0.2.8
            tools/share
            tools/readers/oriel-snapshot.py screen.png

            oriel rooms
            ```

            ## Nothing to do

            ```json
            {}
            ```

            ## Last

            ```log
            oriel: it works
            ```
            """
        let sections = try PageScript(page).sections
        #expect(
            sections == [
                .init(
                    title: "",
                    steps: [
                        .run("oriel share", at: .sharer, printing: ["http://192.0.2.7:8080/#…"]),
                        .run("oriel status", at: .sharer, printing: []),
                    ]
                ),
                .init(
                    title: "Next",
                    steps: [
                        .scene("start"), .scene("viewer Ann"),
                        .run("tools/readers/oriel-snapshot.py screen.png", at: .server, printing: []),
                        .run("oriel rooms", at: .server, printing: []),
                    ]
                ),
                .init(title: "Last", steps: [.expect("oriel: it works")]),
            ]
        )
        #expect(throws: Unexpected.self) { try PageScript("```sh host=192.0.2.99\noriel status\n```") }
    }

    @Test(arguments: [
        ("web   standing  311 s  1        -", "web  standing  6 s  2  -", true),
        ("web   standing  311 s  1        -", "web  away  6 s  2  -", false),
        ("1 \"Ann\"  192.0.2.9  0 ms  -", "12 \"Ann\"  192.0.2.9  -  0 %", true),
        ("window  0x20000c  604x524+101+101  sleep", "window   0xa0000e  1x2+3+4  sleep", true),
        ("oriel: from port 53036", "oriel: from port 1 and more", false),
        (
            "active in /run, …, a sender is attached, … 1 viewer",
            "active in /run, 9 frames, a sender is attached, 1 viewer", true
        ),
        ("active in /run, …, a sender is attached, … 1 viewer", "active in /run, 9 frames, 1 viewer", false),
        ("sound       mic, …", "sound  mic, of a headset", true),
    ])
    func aLineIsComparedByItsWords(shown: String, printed: String, isAlike: Bool) {
        #expect(PageScript.matches(printed, shown) == isAlike)
    }
}
