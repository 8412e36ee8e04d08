/** A wrong use of the command line that only the command itself detects: printed as one line, with exit code 2. */
export class UsageError extends Error {}
