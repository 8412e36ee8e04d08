// Errors of the database with FoundationDB's numbers.

const MESSAGES = {
  1007: 'Transaction is too old to perform reads or be committed',
  1020: 'Transaction not committed due to conflict with another transaction',
  1038: 'Database is locked',
  2004: 'Key outside legal range',
  2114: 'Special Key space is not allowed to write by default. Refer to the `special_key_space_enable_writes` transaction option for more details.',
  2117: 'Api call through special keys failed. For more information, call get on special key 0xff0xff/error_message to get a json string of the error message.',
  2131: 'Tenant does not exist',
  2132: 'A tenant with the given name already exists',
  2136: 'Tenants have been disabled in the cluster',
} as const

export type ErrorCode = keyof typeof MESSAGES

export class DatabaseError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode) {
    super(MESSAGES[code])
    this.code = code
  }
}
