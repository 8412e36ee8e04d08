// Finds and reads the cluster file of a tool. Source: fdb-recordings 02.

import { parseConnectionString } from '../core/connection-string.ts'
import type { ClusterFile, Host } from './context.ts'

const MISSING = '1515 No cluster file found in current directory or default location'
const DEFAULTS = ['./fdb.cluster', '/etc/foundationdb/fdb.cluster']

type Reader = Pick<Host, 'environment' | 'readFile'>

/** @returns the file, or the text of the error for stderr. */
export function openClusterFile(option: string | undefined, host: Reader): ClusterFile | string {
  const named = option ?? host.environment['FDB_CLUSTER_FILE']
  if (named !== undefined) return readFile(named, host) ?? `Unable to read cluster file \`${named}': ${MISSING}\n`
  for (const path of DEFAULTS) {
    const found = readFile(path, host)
    if (found !== undefined) return found
  }
  return `Unable to read cluster file \`${DEFAULTS.join("' or `")}' and FDB_CLUSTER_FILE unset: ${MISSING}\n`
}

/** Undefined: the file does not exist. */
function readFile(path: string, host: Reader): ClusterFile | string | undefined {
  let text: string
  try {
    text = host.readFile(path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EISDIR') return `Unexpected error loading cluster file \`${path}': 1516 File too large to be read\n`
    return undefined
  }
  if (text === '') return `Unexpected error loading cluster file \`${path}': 1513 File could not be read\n`
  const connection = parseConnectionString(text)
  return connection === undefined
    ? `Invalid cluster file \`${path}': 2104 Connection string invalid\n`
    : { path, connection }
}
