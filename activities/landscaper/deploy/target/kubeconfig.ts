// Validates a user's kubeconfig, and converts it into a connection. Pure.
//
// A kubeconfig can name files of this machine, run programs on it, and impersonate users: only inline data of the current context are accepted.
// Fields for files, programs, proxies and impersonation are rejected (UNSUPPORTED_FIELDS). Fields that kubectl does not know are ignored, as kubectl
// does: some clients write such fields (the JavaScript client writes a `name` into every context). Source: spec/landscaper.md 4.6;
// docs/concepts/architecture.md "Kubeconfigs of users".
//
//   K1. The result of `readKubeconfig` is built field by field; no object of the user is passed on.
//   K2. Errors name the field and the kind of mistake, never a value.

import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'

import { describe, type Fields, isMap } from '../objects/readiness/field-reader.ts'

export interface ClusterAccess {
  readonly server: string
  /** CA certificates: PEM in base64; absent: Node's default CAs. */
  readonly caData?: string
  readonly tlsServerName?: string
  /** The client does not verify the server's certificate. */
  readonly isInsecure: boolean
  readonly credentials: Credentials
}

/** Empty for anonymous access. At most one of `token` and `basic` is set. */
export interface Credentials {
  /** Client certificate and its key, each PEM in base64. */
  readonly certificate?: { readonly data: string; readonly key: string }
  readonly token?: string
  readonly basic?: { readonly username: string; readonly password: string }
}

/** A rejected kubeconfig: field, found and expected value. */
export class KubeconfigError extends Error {
  constructor(field: string, found: string, expected: string) {
    super(`${field}: found ${found}; expected ${expected}`)
    this.name = 'KubeconfigError'
  }
}

/**
 * Reads the current context of a kubeconfig.
 *
 * @param kubeconfig the parsed YAML; a text is rejected
 * @param field the name of the kubeconfig in errors
 * @throws KubeconfigError
 */
export function readKubeconfig(kubeconfig: unknown, field = 'kubeconfig'): ClusterAccess {
  const config = rootOf(kubeconfig, field)
  expectTextIfSet(config, { name: 'apiVersion', word: 'v1', field })
  expectTextIfSet(config, { name: 'kind', word: 'Config', field })
  const context = entryOf(config, {
    list: 'contexts',
    item: 'context',
    name: textOf(config, 'current-context', field),
    field,
  })
  const cluster = entryOf(config, {
    list: 'clusters',
    item: 'cluster',
    name: textOf(context.fields, 'cluster', context.field),
    field,
  })
  const user = entryOf(config, {
    list: 'users',
    item: 'user',
    name: textOf(context.fields, 'user', context.field),
    field,
  })
  const access = { ...readCluster(cluster), credentials: readCredentials(user) }
  expectUsable(access, cluster, user)
  return access
}

interface Entry {
  readonly fields: Fields
  /** The path of the entry, by index, because names are user content. */
  readonly field: string
}

function rootOf(kubeconfig: unknown, field: string): Fields {
  if (!isMap(kubeconfig)) throw new KubeconfigError(field, describe(kubeconfig), 'a kubeconfig')
  return kubeconfig
}

function entryOf(
  config: Fields,
  { list, item, name, field }: { list: string; item: string; name: string; field: string },
): Entry {
  const entries = valueOf(config, list)
  if (!Array.isArray(entries)) throw new KubeconfigError(`${field}.${list}`, describe(entries), 'a list')
  const found = entries.flatMap((entry: unknown, index) =>
    isMap(entry) && valueOf(entry, 'name') === name ? [{ entry, index }] : [],
  )
  const [first, second] = found
  if (first === undefined) throw new KubeconfigError(`${field}.${list}`, `no ${item} with the referenced name`, 'one')
  if (second !== undefined)
    throw new KubeconfigError(`${field}.${list}[${second.index}].name`, 'the name of an earlier entry', 'a unique name')
  const at = `${field}.${list}[${first.index}]`
  const fields = valueOf(first.entry, item)
  if (!isMap(fields)) throw new KubeconfigError(`${at}.${item}`, describe(fields), 'a map')
  return { fields, field: `${at}.${item}` }
}

// The fields that are rejected, each with the accepted alternative, which the message shows.
const UNSUPPORTED_FIELDS: ReadonlyMap<string, string> = new Map([
  ...['certificate-authority', 'client-certificate', 'client-key'].map(
    (name) => [name, `the content in ${name}-data`] as const,
  ),
  ...(['tokenFile', 'exec', 'auth-provider'] as const).map(
    (name) => [name, 'a token, a client certificate or a password'] as const,
  ),
  ...(['as', 'as-uid', 'as-groups', 'as-user-extra'] as const).map(
    (name) => [name, 'the credentials of the user'] as const,
  ),
  ['proxy-url', 'a direct connection to the server'],
])

function readCluster({ fields, field }: Entry): Omit<ClusterAccess, 'credentials'> {
  rejectUnsupportedFields(fields, field)
  const isInsecure = flagOf(fields, 'insecure-skip-tls-verify', field)
  const caData = base64Of(fields, 'certificate-authority-data', field)
  if (isInsecure && caData !== undefined) {
    throw new KubeconfigError(
      `${field}.insecure-skip-tls-verify`,
      'true and certificate-authority-data',
      'only one of them',
    )
  }
  const tlsServerName = optionalTextOf(fields, 'tls-server-name', field)
  if (tlsServerName !== undefined && !/^[\w.:-]{1,253}$/.test(tlsServerName)) {
    throw new KubeconfigError(`${field}.tls-server-name`, 'another text', 'a host name')
  }
  return {
    server: serverOf(textOf(fields, 'server', field), `${field}.server`),
    isInsecure,
    ...(caData !== undefined && { caData }),
    ...(tlsServerName !== undefined && { tlsServerName }),
  }
}

const LONGEST_SERVER = 2048

function serverOf(text: string, field: string): string {
  const expected = 'an address such as https://host:6443'
  if (text.length > LONGEST_SERVER) throw new KubeconfigError(field, `a text of ${text.length} characters`, expected)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) throw new KubeconfigError(field, 'no URL', expected)
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new KubeconfigError(field, 'another scheme', 'http or https')
  if (url.username !== '' || url.password !== '')
    throw new KubeconfigError(field, 'a URL with credentials', 'credentials in the user')
  if (url.search !== '' || url.hash !== '' || /[?#]/.test(text))
    throw new KubeconfigError(field, 'a URL with a query or fragment', expected)
  return url.href.replace(/\/+$/, '')
}

function readCredentials({ fields, field }: Entry): Credentials {
  rejectUnsupportedFields(fields, field)
  const certificate = certificateOf({ fields, field })
  const token = optionalTextOf(fields, 'token', field)
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new KubeconfigError(`${field}.token`, 'a text with blanks or control characters', 'a token')
  }
  const basic = basicOf({ fields, field })
  if (token !== undefined && basic !== undefined)
    throw new KubeconfigError(`${field}.token`, 'a token and a username', 'only one of them')
  return {
    ...(certificate !== undefined && { certificate }),
    ...(token !== undefined && { token }),
    ...(basic !== undefined && { basic }),
  }
}

function certificateOf({ fields, field }: Entry): Credentials['certificate'] {
  const data = base64Of(fields, 'client-certificate-data', field)
  const key = base64Of(fields, 'client-key-data', field)
  if (data === undefined && key === undefined) return undefined
  if (data === undefined)
    throw new KubeconfigError(`${field}.client-certificate-data`, 'nothing', 'the certificate of client-key-data')
  if (key === undefined)
    throw new KubeconfigError(`${field}.client-key-data`, 'nothing', 'the key of client-certificate-data')
  return { data, key }
}

function basicOf({ fields, field }: Entry): Credentials['basic'] {
  const username = optionalTextOf(fields, 'username', field)
  const password = optionalTextOf(fields, 'password', field)
  if (username === undefined && password === undefined) return undefined
  if (username === undefined) throw new KubeconfigError(`${field}.username`, 'nothing', 'the user of the password')
  if (password === undefined) throw new KubeconfigError(`${field}.password`, 'nothing', 'the password of the user')
  if (username.includes(':'))
    throw new KubeconfigError(`${field}.username`, 'a text with a colon', 'a name without colon')
  return { username, password }
}

// OpenSSL checks whether the parts are certificates and keys that match; otherwise every request would fail as if the server did not answer.
function expectUsable({ caData, credentials: { certificate } }: ClusterAccess, cluster: Entry, user: Entry): void {
  const decoded = (data: string) => Buffer.from(data, 'base64')
  if (caData !== undefined && !areCertificates(decoded(caData).toString('latin1'))) {
    throw new KubeconfigError(`${cluster.field}.certificate-authority-data`, 'no certificate', 'PEM in base64')
  }
  if (certificate === undefined) return
  if (!isSecureContext({ cert: decoded(certificate.data) })) {
    throw new KubeconfigError(`${user.field}.client-certificate-data`, 'no certificate', 'PEM in base64')
  }
  if (!isSecureContext({ cert: decoded(certificate.data), key: decoded(certificate.key) })) {
    throw new KubeconfigError(
      `${user.field}.client-key-data`,
      'no key of this certificate',
      'PEM in base64, without a passphrase',
    )
  }
}

// OpenSSL ignores authorities that it cannot read, so each is parsed.
function areCertificates(pem: string): boolean {
  const parts = pem.split(END_OF_CERTIFICATE).slice(0, -1)
  try {
    for (const part of parts) new X509Certificate(part + END_OF_CERTIFICATE)
    return parts.length > 0
  } catch {
    return false
  }
}

const END_OF_CERTIFICATE = '-----END CERTIFICATE-----'

function isSecureContext(options: { cert: Buffer; key?: Buffer }): boolean {
  const isPem = Object.values(options).every((part: Buffer) => part.includes('-----BEGIN '))
  if (!isPem) return false
  try {
    createSecureContext(options)
    return true
  } catch {
    return false
  }
}

function rejectUnsupportedFields(fields: Fields, field: string): void {
  for (const [name, alternative] of UNSUPPORTED_FIELDS) {
    if (!isAbsent(valueOf(fields, name))) throw new KubeconfigError(`${field}.${name}`, 'a value', alternative)
  }
}

// A field with Go's zero value counts as absent, as in kubectl: an empty text or false.
const isAbsent = (value: unknown) => value === undefined || value === null || value === '' || value === false

const valueOf = (fields: Fields, name: string): unknown => (Object.hasOwn(fields, name) ? fields[name] : undefined)

// Accepts an absent field, as kubectl does.
function expectTextIfSet(fields: Fields, { name, word, field }: { name: string; word: string; field: string }): void {
  const text = optionalTextOf(fields, name, field)
  if (text !== undefined && text !== word) throw new KubeconfigError(`${field}.${name}`, 'another text', word)
}

function textOf(fields: Fields, name: string, field: string): string {
  const text = optionalTextOf(fields, name, field)
  if (text === undefined) throw new KubeconfigError(`${field}.${name}`, 'nothing', 'a text')
  return text
}

function optionalTextOf(fields: Fields, name: string, field: string): string | undefined {
  const value = valueOf(fields, name)
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string') throw new KubeconfigError(`${field}.${name}`, describe(value), 'a text')
  return value
}

function flagOf(fields: Fields, name: string, field: string): boolean {
  const value = valueOf(fields, name) ?? false
  if (typeof value !== 'boolean') throw new KubeconfigError(`${field}.${name}`, describe(value), 'true or false')
  return value
}

function base64Of(fields: Fields, name: string, field: string): string | undefined {
  const text = optionalTextOf(fields, name, field)?.replaceAll(/\s/g, '')
  if (text === undefined) return undefined
  const isBase64 = text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)
  if (!isBase64) throw new KubeconfigError(`${field}.${name}`, 'invalid base64', 'PEM in base64')
  return text
}

/**
 * Formats a kubeconfig as JSON, with one cluster, user and context.
 *
 * @param user the name of the user entry.
 * @param fields additional fields of the user entry.
 */
export function formatKubeconfig(
  { server, caData, tlsServerName, isInsecure, credentials }: ClusterAccess,
  { user: name = 'target', fields = {} }: { readonly user?: string; readonly fields?: Fields } = {},
): string {
  const { certificate, token, basic } = credentials
  const cluster = {
    server,
    ...(caData !== undefined && { 'certificate-authority-data': caData }),
    ...(tlsServerName !== undefined && { 'tls-server-name': tlsServerName }),
    // Pawl's Kubernetes client rejects an http server without this field.
    ...((isInsecure || server.startsWith('http:')) && { 'insecure-skip-tls-verify': true }),
  }
  const user = {
    ...(certificate !== undefined && {
      'client-certificate-data': certificate.data,
      'client-key-data': certificate.key,
    }),
    ...(token !== undefined && { token }),
    ...basic,
    ...fields,
  }
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'target',
    clusters: [{ name: 'target', cluster }],
    users: [{ name, user }],
    contexts: [{ name: 'target', context: { cluster: 'target', user: name } }],
  })
}
