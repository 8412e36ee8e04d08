// Reads plain kubeconfigs: a token, a certificate, or a name and password, without a proxy. Most kubeconfigs are plain,
// and reading them needs no library; Kubernetes' library has 870 modules and takes a third of a second.
//
//   P1. Any unknown field makes a kubeconfig not plain; the library reads it (client.ts).
//   P2. For plain kubeconfigs the result equals the library's, except for `tokenFile`, which the library does not
//       support. Source: client-go's clientcmd/api, AuthInfo.

import { readFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'

import type { KubeAccess } from './http-client.ts'

type Fields = Readonly<Record<string, unknown>>

const CLUSTER_FIELDS: ReadonlySet<string> = new Set([
  ...['server', 'certificate-authority', 'certificate-authority-data'],
  ...['insecure-skip-tls-verify', 'tls-server-name', 'extensions'],
])
const USER_FIELDS: ReadonlySet<string> = new Set([
  ...['client-certificate', 'client-certificate-data', 'client-key', 'client-key-data'],
  ...['token', 'tokenFile', 'username', 'password', 'as', 'extensions'],
])
/** If both fields of a pair are set, the library decides. */
const ALTERNATIVES = [
  ['certificate-authority', 'certificate-authority-data'],
  ['client-certificate', 'client-certificate-data'],
  ['client-key', 'client-key-data'],
] as const

/**
 * Reads a plain kubeconfig.
 *
 * @param kubeconfig JSON with absolute paths.
 * @returns undefined when it is not plain (P1), also for an invalid one.
 */
export function readPlainKubeconfig(kubeconfig: string): KubeAccess | undefined {
  const config = JSON.parse(kubeconfig) as Fields
  const context = entryNamed(config['contexts'], config['current-context'], 'context')
  const cluster = entryNamed(config['clusters'], context?.['cluster'], 'cluster')
  const user = entryNamed(config['users'], context?.['user'], 'user')
  if (cluster === undefined || user === undefined) return undefined
  if (!isPlain(cluster, CLUSTER_FIELDS) || !isPlain(user, USER_FIELDS)) return undefined
  const server = textIn(cluster, 'server')?.replace(/\/$/, '')
  const isInsecure = cluster['insecure-skip-tls-verify'] === true
  if (server === undefined || !(server.startsWith('https://') || (server.startsWith('http://') && isInsecure)))
    return undefined
  const servername = textIn(cluster, 'tls-server-name')
  const authority = () => bytesOf(cluster, 'certificate-authority')
  return {
    server,
    connection: () => {
      const ca = authority()
      return {
        server,
        isInsecure,
        ...(ca !== undefined && { caData: ca.toString('base64') }),
        ...(servername !== undefined && { tlsServerName: servername }),
      }
    },
    authenticate: async () => ({
      headers: await headersOf(user),
      connect: {
        ...(isInsecure && { rejectUnauthorized: false }),
        ...(servername !== undefined && { servername }),
        ...optionalField('ca', authority()),
        ...optionalField('cert', bytesOf(user, 'client-certificate')),
        ...optionalField('key', bytesOf(user, 'client-key')),
      },
    }),
  }
}

/** The first entry of the name, as in the library. */
function entryNamed(list: unknown, name: unknown, field: string): Fields | undefined {
  if (!Array.isArray(list) || typeof name !== 'string' || name === '') return undefined
  const found = (list as readonly (Fields | null)[]).find((one) => one?.['name'] === name)?.[field]
  return typeof found === 'object' && found !== null ? (found as Fields) : undefined
}

function isPlain(fields: Fields, known: ReadonlySet<string>): boolean {
  if (ALTERNATIVES.some(([file, text]) => isSet(fields[file]) && isSet(fields[text]))) return false
  return Object.entries(fields).every(([name, value]) => {
    if (!isSet(value) || name === 'extensions') return true
    if (name === 'insecure-skip-tls-verify') return typeof value === 'boolean'
    return known.has(name) && typeof value === 'string'
  })
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== ''
}

function textIn(fields: Fields, name: string): string | undefined {
  const value = fields[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Content of a file, or of base64. */
function bytesOf(fields: Fields, name: string): Buffer | undefined {
  const file = textIn(fields, name)
  if (file !== undefined) return readFileSync(file)
  const text = textIn(fields, `${name}-data`)
  return text === undefined ? undefined : Buffer.from(text, 'base64')
}

function optionalField(name: string, value: Buffer | undefined) {
  return value === undefined ? {} : { [name]: value }
}

async function headersOf(user: Fields): Promise<Readonly<Record<string, string>>> {
  const [name, password, as, file] = ['username', 'password', 'as', 'tokenFile'].map((field) => textIn(user, field))
  const token = file === undefined ? textIn(user, 'token') : (await readFile(file, 'utf8')).trim()
  const basic = Buffer.from(`${name ?? ''}:${password ?? ''}`).toString('base64')
  return {
    ...(name !== undefined && { Authorization: `Basic ${basic}` }),
    ...(as !== undefined && { 'Impersonate-User': as }),
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
  }
}
