import ArgumentParser
import Calls
import Publishing

extension CallPlan {
    init(parsing text: String) throws {
        do { self = try CallKinds.own.plan(text) } catch let error as CallEnd {
            throw ValidationError(error.description)
        }
    }
}
