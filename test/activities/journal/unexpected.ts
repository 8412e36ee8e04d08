/** For what a test does not expect to be reported: nobody catches it, so the test run fails. */
export function unexpected(error: unknown): never {
  throw error
}
