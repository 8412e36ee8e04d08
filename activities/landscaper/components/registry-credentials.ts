// Reads credentials for OCI registries from pull secrets and OCM configurations, and selects one for a repository. Pure. Source: spec/landscaper.md
// 1.7; Docker's config.json; OCM v0.11.0, credentials/builtin/oci/identity, credentials/identity/hostpath.
//
//   C1. No message quotes a value, because any value may be a secret.
//   C2. A credential is only sent to its host.

import { createHash } from 'node:crypto'
import { BlueprintError } from '../render/render-errors.ts'
import { printPath, readFields, typeName, type FieldReader, type Fields } from '../render/field-reader.ts'
import { canonicalHost, type OciRepository } from './oci-names.ts'
import { isFields } from '../../../workflows/kit/index.ts'

export interface RegistryCredential {
  readonly username?: string
  readonly password?: string
  /** Exchanged for a token. */
  readonly identityToken?: string
  /** Sent unchanged as bearer token. */
  readonly registryToken?: string
  /** PEM of the authorities that replace the system's for the registry's certificate. */
  readonly authority?: string
}

/** A credential with the repositories for which it is used. */
export interface CredentialEntry {
  readonly hostname: string
  /** Absent: the credentials are valid for each port of the host. */
  readonly port?: string
  readonly scheme?: string
  /** A prefix of the repository's path, in whole segments; empty for all repositories. */
  readonly path: string
  readonly credential: RegistryCredential
}

/** Selects the matching credential with the longest path; among equal paths one with a port, then the first. */
export function credentialFor(
  entries: readonly CredentialEntry[],
  { origin, path }: OciRepository,
): RegistryCredential | undefined {
  const { hostname, port, protocol } = new URL(origin)
  const asked = { hostname: canonicalHost(hostname), scheme: protocol.slice(0, -1), port: port || usualPort(protocol) }
  const fitting = entries.filter(
    (one) =>
      isHost(one.hostname, asked.hostname) &&
      (one.port ?? asked.port) === asked.port &&
      (one.scheme ?? asked.scheme) === asked.scheme &&
      (one.path === '' || `${path}/`.startsWith(`${one.path}/`)),
  )
  const [best] = fitting.sort((left, right) => weightOf(right) - weightOf(left))
  return best?.credential
}

const usualPort = (protocol: string) => (protocol === 'http:' ? '80' : '443')
const weightOf = ({ path, port }: CredentialEntry) => path.length * 2 + (port === undefined ? 0 : 1)

// `*.example.com` matches exactly one label, as in the kubelet.
function isHost(named: string, hostname: string): boolean {
  const host = canonicalHost(named)
  if (!host.startsWith('*.')) return host === hostname
  return hostname.slice(hostname.indexOf('.')) === host.slice(1)
}

/** A cache key that distinguishes credentials. */
export function keyOfCredential(credential: RegistryCredential | undefined): string {
  if (credential === undefined) return ''
  const { username, password, identityToken, registryToken, authority } = credential
  const text = JSON.stringify([username, password, identityToken, registryToken, authority])
  return createHash('sha256').update(text).digest('hex')
}

/**
 * Reads the `auths` of a config.json, or the older .dockercfg, which is the same map without `auths`.
 *
 * @param place for messages.
 * @throws BlueprintError
 */
export function readDockerConfig(
  value: unknown,
  place: string,
  form: 'config.json' | '.dockercfg',
): readonly CredentialEntry[] {
  if (!isFields(value)) throw invalid(`${place}: found ${typeName(value)}; expected a map`)
  const auths = form === '.dockercfg' ? value : (value['auths'] ?? {})
  if (!isFields(auths)) throw invalid(`${place}.auths: found ${typeName(auths)}; expected a map`)
  const entries = Object.entries(auths)
  refuseTooMany(entries.length, `${place}.auths`)
  return entries.flatMap(([server, entry]) => {
    const at = `${place}: entry of ${JSON.stringify(server.slice(0, 100))}`
    const subject = subjectOf(server)
    if (subject === undefined) throw invalid(`${at}: expected the name of a registry`)
    const credential = dockerCredential(entry, at)
    return credential === undefined ? [] : [{ ...subject, credential }]
  })
}

// Each entry takes time, and a Secret may hold tens of thousands.
const MAX_ENTRIES = 1000

function refuseTooMany(found: number, field: string): void {
  if (found > MAX_ENTRIES) throw invalid(`${field}: found ${found} entries; expected at most ${MAX_ENTRIES}`)
}

/** Parses `https://index.docker.io/v1/`, `ghcr.io` or `registry.example:5000/acme`. */
function subjectOf(server: string): Omit<CredentialEntry, 'credential'> | undefined {
  const [, scheme, host = '', path = ''] = /^(?:(https?):\/\/)?([^/?#@]+)(?:\/([^?#]*))?$/.exec(server) ?? []
  // URLs do not allow the wildcard of a name.
  const address = host.replace(/^\*\./, 'wildcard.')
  if (host === '' || !URL.canParse(`https://${address}`)) return undefined
  const { hostname, port } = new URL(`https://${address}`)
  const repository = path.replace(/\/+$/, '').replace(/^v[12](?:\/|$)/, '')
  const defaultPort = scheme === 'http' ? '80' : '443'
  return {
    hostname: hostname.replace(/^wildcard\./, '*.'),
    path: repository,
    // In Docker's configuration a name without port means the default port only.
    port: port === '' ? defaultPort : port,
  }
}

function dockerCredential(entry: unknown, at: string): RegistryCredential | undefined {
  const fields = readFields(entry, [], (path, problem) => refuse(`${at}: ${printPath(path)}: ${problem}`), 'exact')
  const { username, password } = { ...basicIn(fields.text('auth'), at), ...namedIn(fields) }
  return credentialOf({
    username,
    password,
    identityToken: fields.text('identitytoken'),
    registryToken: fields.text('registrytoken'),
  })
}

function namedIn(fields: FieldReader): { username?: string; password?: string } {
  const [username, password] = [fields.text('username'), fields.text('password')]
  return username === undefined || username === '' ? {} : { username, password: password ?? '' }
}

function basicIn(auth: string | undefined, at: string): { username?: string; password?: string } {
  if (auth === undefined || auth === '') return {}
  const decoded = Buffer.from(auth, 'base64').toString('utf8')
  const colon = decoded.indexOf(':')
  if (colon <= 0) throw invalid(`${at}: auth: not "user:password" in base64`)
  // Some tools append zero bytes.
  return { username: decoded.slice(0, colon), password: decoded.slice(colon + 1).replace(/\0+$/, '') }
}

type Given = { readonly [key in keyof RegistryCredential]: string | undefined }

function credentialOf(given: Given): RegistryCredential | undefined {
  const known = Object.entries(given).filter(([, text]) => text !== undefined && text !== '')
  return known.length === 0 ? undefined : Object.fromEntries(known)
}

const GENERIC = 'generic.config.ocm.software'
const CREDENTIALS = 'credentials.config.ocm.software'
const CONSUMER = 'OCIRegistry'
const MAX_NESTED = 10

/**
 * Reads the credentials for OCI registries from an OCM configuration; credentials for other consumers are ignored.
 *
 * @throws BlueprintError `NotSupported` with an unsupported type, otherwise for malformed fields.
 */
export function readOcmConfig(value: unknown, place: string, level = 0): readonly CredentialEntry[] {
  if (!isFields(value)) throw invalid(`${place}: found ${typeName(value)}; expected a map`)
  const type = typeIn(value, place)
  const fields = readFields(value, [], (path, problem) => refuse(`${place}.${printPath(path)}: ${problem}`), 'exact')
  if (type === GENERIC && level < MAX_NESTED)
    return (fields.list('configurations') ?? []).flatMap((one, index) =>
      readOcmConfig(one, `${place}.configurations[${index}]`, level + 1),
    )
  if (type !== CREDENTIALS) throw notSupported(`${place}.type`, type, `${GENERIC} or ${CREDENTIALS}`)
  if (fields.raw('aliases') !== undefined)
    throw new BlueprintError(
      'NotSupported',
      `${place}.aliases: found aliases, which Pawl does not support; remove them`,
    )
  refuseTooMany((fields.list('consumers') ?? []).length, `${place}.consumers`)
  const consumers = (fields.list('consumers') ?? []).flatMap((one, index) =>
    consumerIn(one, `${place}.consumers[${index}]`),
  )
  const others = (fields.list('repositories') ?? []).flatMap((one, index) =>
    repositoryIn(one, `${place}.repositories[${index}]`),
  )
  return [...consumers, ...others]
}

function consumerIn(value: unknown, place: string): readonly CredentialEntry[] {
  const report = (path: Parameters<typeof printPath>[0], problem: string) =>
    refuse(`${place}.${printPath(path)}: ${problem}`)
  const fields = readFields(value, [], report, 'exact')
  const identity = fields.textMap('identity') ?? {}
  if (identity['type'] !== CONSUMER) return []
  const sources = fields.list('credentials') ?? []
  for (const [index, source] of sources.entries()) {
    const found = typeIn(source, `${place}.credentials[${index}]`)
    if (found !== 'Credentials') throw notSupported(`${place}.credentials[${index}].type`, found, 'Credentials')
  }
  // The credentials form a chain; the last one is used.
  const last = readFields(sources.at(-1), ['credentials', sources.length - 1], report, 'exact')
  const properties = last.textMap('properties') ?? {}
  const { username, password, identityToken, registryToken, certificateAuthority: authority } = properties
  const credential = credentialOf({ username, password, identityToken, registryToken, authority })
  return credential === undefined ? [] : [{ ...consumerOf(identity, place), credential }]
}

function consumerOf(identity: Readonly<Record<string, string>>, place: string): Omit<CredentialEntry, 'credential'> {
  const { hostname = '', port = '', scheme = '', pathprefix = '' } = identity
  if (hostname === '') throw invalid(`${place}.identity.hostname: found nothing; expected the host name of a registry`)
  return {
    hostname: hostname.toLowerCase(),
    path: pathprefix.replace(/^\/+|\/+$/g, ''),
    ...(port !== '' && { port }),
    ...(scheme !== '' && { scheme: scheme.replace('://', '') }),
  }
}

function repositoryIn(value: unknown, place: string): readonly CredentialEntry[] {
  const at = `${place}.repository`
  const repository: Fields = isFields(value) && isFields(value['repository']) ? value['repository'] : {}
  const type = typeIn(repository, at)
  if (type !== 'DockerConfig') throw notSupported(`${at}.type`, type, 'DockerConfig')
  if (repository['dockerConfigFile'] !== undefined)
    throw new BlueprintError('NotSupported', `${at}.dockerConfigFile: found a file; use dockerConfig with its content`)
  if (repository['propagateConsumerIdentity'] === false) return []
  return readDockerConfig(repository['dockerConfig'], `${at}.dockerConfig`, 'config.json')
}

/** The type without its version. */
function typeIn(value: unknown, place: string): string {
  const type = isFields(value) ? value['type'] : undefined
  if (typeof type === 'string' && type !== '') return type.replace(/\/v\d+\w*$/, '')
  throw invalid(`${place}.type: found ${typeName(type)}; expected text`)
}

function notSupported(field: string, found: string, expected: string): BlueprintError {
  const message = `${field}: found ${JSON.stringify(found.slice(0, 100))}; expected ${expected}: Pawl supports no others`
  return new BlueprintError('NotSupported', message)
}

function refuse(message: string): never {
  throw invalid(message)
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
