/** Reports errors in tests that expect none: it throws, no caller catches the error, and the test run fails. */
export function unexpected(error: unknown): never {
  throw error
}
