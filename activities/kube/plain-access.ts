// The access that a plain kubeconfig gives: a token, a certificate, or a name and password, at a server without a proxy. Most are plain, and to read them
// takes no library; that of Kubernetes is 870 modules, a third of a second.
//
//   P1. What is not known here is for the library (client.ts): one field more, and the kubeconfig is not plain.
//   P2. What both read gives the same, but for `tokenFile`, which the library does not know. Source: client-go's clientcmd/api, AuthInfo.

import { readFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'

import type { KubeAccess } from './http-client.ts'

type Fields = Readonly<Record<string, unknown>>

const OF_CLUSTERS: ReadonlySet<string> = new Set([
  ...['server', 'certificate-authority', 'certificate-authority-data'],
  ...['insecure-skip-tls-verify', 'tls-server-name', 'extensions'],
])
const OF_USERS: ReadonlySet<string> = new Set([
  ...['client-certificate', 'client-certificate-data', 'client-key', 'client-key-data'],
  ...['token', 'tokenFile', 'username', 'password', 'as', 'extensions'],
])
/** Where both say something, which one is right is no plain question. */
const ONE_OF = [
  ['certificate-authority', 'certificate-authority-data'],
  ['client-certificate', 'client-certificate-data'],
  ['client-key', 'client-key-data'],
] as const

/** @param kubeconfig as JSON, with absolute paths. @returns undefined when it is not plain (P1), whatever is the matter with it. */
export function plainAccess(kubeconfig: string): KubeAccess | undefined {
  const config = JSON.parse(kubeconfig) as Fields
  const context = namedIn(config['contexts'], config['current-context'], 'context')
  const cluster = namedIn(config['clusters'], context?.['cluster'], 'cluster')
  const user = namedIn(config['users'], context?.['user'], 'user')
  if (cluster === undefined || user === undefined) return undefined
  if (!isPlain(cluster, OF_CLUSTERS) || !isPlain(user, OF_USERS)) return undefined
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
        ...given('ca', authority()),
        ...given('cert', bytesOf(user, 'client-certificate')),
        ...given('key', bytesOf(user, 'client-key')),
      },
    }),
  }
}

/** The first of the name, as the library takes it. */
function namedIn(list: unknown, name: unknown, field: string): Fields | undefined {
  if (!Array.isArray(list) || typeof name !== 'string' || name === '') return undefined
  const found = (list as readonly (Fields | null)[]).find((one) => one?.['name'] === name)?.[field]
  return typeof found === 'object' && found !== null ? (found as Fields) : undefined
}

function isPlain(fields: Fields, known: ReadonlySet<string>): boolean {
  if (ONE_OF.some(([file, text]) => isSaid(fields[file]) && isSaid(fields[text]))) return false
  return Object.entries(fields).every(([name, value]) => {
    if (!isSaid(value) || name === 'extensions') return true
    if (name === 'insecure-skip-tls-verify') return typeof value === 'boolean'
    return known.has(name) && typeof value === 'string'
  })
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && value !== ''
}

function textIn(fields: Fields, name: string): string | undefined {
  const value = fields[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Of a file, or of base64. */
function bytesOf(fields: Fields, name: string): Buffer | undefined {
  const file = textIn(fields, name)
  if (file !== undefined) return readFileSync(file)
  const text = textIn(fields, `${name}-data`)
  return text === undefined ? undefined : Buffer.from(text, 'base64')
}

function given(name: string, value: Buffer | undefined) {
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
