/// Where the tests find the repository, and the programs that `tools/test` builds before it runs them.
package enum TestPrograms {
    package static let repository = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

    /// Holds all programs of the package, as `tools/packages.sh` says that tests are built.
    package static let directory = "\(repository)/.build/tests/release"

    package static let bridgePeer = "\(directory)/bridge-peer"

    /// - Parameter variant: a folder that `tools/mutants` makes.
    package static func bridgePeer(_ variant: String) -> String {
        "\(repository)/.build/mutants/\(variant)/bridge-peer"
    }
}
