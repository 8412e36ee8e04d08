// The URL of a backup. Source: spec/foundationdb.md 1.5.

import type { BlobStore } from '../container-schema.ts'

const DEFAULT_BUCKET = 'fdb-backups'
const HTTPS_PORT = 443
const HTTP_PORT = 80

/**
 * `blobstore://account@host:port/name?bucket=...`. Every part has been validated, so none contains a separator.
 *
 * @param name of the object with the blob store; the default of `backupName`.
 */
export function backupURL({ accountName, backupName, bucket, urlParameters = [] }: BlobStore, name: string): string {
  const isPlain = urlParameters.some((one) => /^(?:sc|secure_connection)=0$/.test(one))
  const hasPort = /:\d+$/.test(accountName)
  const account = hasPort ? accountName : `${accountName}:${isPlain ? HTTP_PORT : HTTPS_PORT}`
  const parameters = [`bucket=${bucket ?? DEFAULT_BUCKET}`, ...urlParameters]
  return `blobstore://${account}/${backupName ?? name}?${parameters.join('&')}`
}
