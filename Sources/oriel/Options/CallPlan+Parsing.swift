import ArgumentParser
import Calls
import Publishing

extension CallPlan {
    /// A call by its name on a command line.
    init(parsing text: String) throws {
        do { self = try CallKinds.own.plan(text) } catch let error as CallEnd {
            throw ValidationError(error.description)
        }
    }
}
