/** Wrong usage, by the person at the command line, that only what runs can see: told in one line, with exit code 2. */
export class UsageError extends Error {}
