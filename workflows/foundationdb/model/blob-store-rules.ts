// Rules about the place of a backup. Its parts become the URL of a backup, an argument of programs. Source:
// spec/foundationdb.md 1.5.
//
//   U1. No secret is in a URL, because URLs are in command lines and in statuses.

import { fieldsOf, type Problem } from '../../kit/index.ts'
import { formatValue, type TextForm, textFieldProblems, textListProblems, textProblems } from './text-rules.ts'

const HOST = String.raw`(?:\[[0-9A-Fa-f:]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::\d{1,5})?`
const ACCOUNT: TextForm = {
  accepts: (text) => new RegExp(`^(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?${HOST}$`).test(text),
  expected: 'account@host or account@host:port without a secret; put secrets into a blob credentials file',
}
const NAME: TextForm = {
  accepts: (text) => /^[A-Za-z0-9_][A-Za-z0-9_.-]*(\/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$/.test(text),
  expected: 'letters, digits, "_", ".", "-" and "/" between names',
}
const BUCKET: TextForm = {
  accepts: (text) => /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(text),
  expected: 'letters, digits, ".", "_" and "-"',
}
const PARAMETER: TextForm = {
  accepts: (text) => /^[a-z][a-z0-9_]*=[A-Za-z0-9_.:/-]*$/.test(text) && !/^(?:bucket|header)=/.test(text),
  expected: 'name=value of letters, digits and "_.:/-"; the bucket is in bucket',
}

export function blobStoreProblems(store: unknown, at: string): readonly Problem[] {
  return [
    ...textFieldProblems(store, at, { accountName: ACCOUNT, backupName: NAME, bucket: BUCKET }),
    ...textListProblems(fieldsOf(store)['urlParameters'], `${at}.urlParameters`, PARAMETER),
  ]
}

/** The problems of a complete URL, which consists of the same parts. */
export function backupURLProblems(value: unknown, field: string): readonly Problem[] {
  const expected = 'a URL such as blobstore://account@host:443/name?bucket=fdb-backups, without a secret'
  if (value === undefined || value === null) return []
  const [, accountName, backupName, query] =
    typeof value === 'string' ? (/^blobstore:\/\/([^/?#\s]+)\/([^?#\s]+)(?:\?([^#\s]*))?$/.exec(value) ?? []) : []
  const parameters = query === undefined || query === '' ? [] : query.split('&')
  const bucket = parameters.find((one) => one.startsWith('bucket='))?.slice('bucket='.length)
  const urlParameters = parameters.filter((one) => !one.startsWith('bucket='))
  const isValid =
    accountName !== undefined && blobStoreProblems({ accountName, backupName, bucket, urlParameters }, '').length === 0
  return isValid ? [] : [{ field, found: withoutSecret(value), expected }]
}

/** U1 also holds for messages. */
function withoutSecret(value: unknown): string {
  return typeof value === 'string' ? formatValue(value.replace(/\/\/[^/?#]*/, '//…')) : formatValue(value)
}

/** The path of a key file, in the containers. */
export const KEY_PATH: TextForm = {
  accepts: (text) => /^(\/(?!\.\.?(\/|$))[A-Za-z0-9_.-]+)+$/.test(text),
  expected: 'an absolute path without "..", such as /keys/backup',
}

export function keyPathProblems(value: unknown, field: string): readonly Problem[] {
  return textProblems(value, field, KEY_PATH)
}
