// Maps components and artefacts to names in OCI registries. Pure. Source: OCM v0.11.0, ocm/repositories/genericocireg (names and versions),
// oci/ref.go (references); OCI distribution spec 1.1 (grammar of names and tags).

import { createHash } from 'node:crypto'
import { BlueprintError } from '../render/render-errors.ts'
import { typeName, type Fields } from '../render/field-reader.ts'

/** One repository of a registry. */
export interface OciRepository {
  /** For example `https://ghcr.io`, with a port unless it is the default. */
  readonly origin: string
  /** The path in the registry: `acme/component-descriptors/example.com/shop`. */
  readonly path: string
}

/** The part of a registry in which a `repositoryContext` stores components. */
export interface OciContext {
  readonly origin: string
  /** The prefix of all paths; may be empty. */
  readonly prefix: string
  readonly mapping: 'urlPath' | 'sha256-digest'
}

export const OCI_CONTEXT_TYPES = ['OCIRegistry', 'ociRegistry', 'oci']
const NAMESPACE = 'component-descriptors'
const DOCKER_HUB = 'docker.io'
const DOCKER_HUB_NAMES = [DOCKER_HUB, 'index.docker.io', 'registry-1.docker.io']
const DOCKER_HUB_SERVER = 'registry-1.docker.io'
const PATH = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/
const MAX_PATH = 255
/** A host name has at most 253 characters (RFC 1035); the rest is for scheme and port. */
const MAX_ADDRESS = 300 + MAX_PATH
const TAG = /^\w[\w.-]{0,127}$/
const DIGEST = /^sha(?:256:[0-9a-f]{64}|512:[0-9a-f]{128})$/
/** Replaces `+`, which is not allowed in tags. */
const BUILD = '.build-'

const isPath = (text: string) => text.length <= MAX_PATH && PATH.test(text)
export const isDigest = (text: string): boolean => DIGEST.test(text)

/** One name for Docker Hub, which has several host names. */
export function canonicalHost(hostname: string): string {
  return DOCKER_HUB_NAMES.includes(hostname) ? DOCKER_HUB : hostname
}

/**
 * @param place of the context, for messages.
 * @throws BlueprintError with field, actual and expected value.
 */
export function readOciContext(context: Fields, place: string): OciContext {
  const { baseUrl } = context
  if (typeof baseUrl !== 'string' || baseUrl === '')
    throw invalid(`${place}.baseUrl: found ${typeName(baseUrl)}; expected a registry such as ghcr.io/acme`)
  const { prefix: subPath, mapping } = readOciNames(context, place)
  const found = splitAddress(baseUrl)
  if (found === undefined)
    throw invalid(`${place}.baseUrl: found ${shown(baseUrl)}; expected a registry such as ghcr.io/acme`)
  const prefix = joined(found.path, subPath)
  if (prefix !== '' && !PATH.test(prefix))
    throw invalid(`${place}: found the path ${shown(prefix)}; expected a valid path of an OCI registry`)
  return { origin: found.origin, prefix, mapping }
}

/** Reads the mapping of names to paths. @throws BlueprintError with field, actual and expected value. */
export function readOciNames(context: Fields, place: string): Pick<OciContext, 'prefix' | 'mapping'> {
  const [prefix, mapping] = [context['subPath'] ?? '', context['componentNameMapping'] ?? 'urlPath']
  if (typeof prefix !== 'string') throw invalid(`${place}.subPath: found ${typeName(prefix)}; expected text`)
  if (mapping !== 'urlPath' && mapping !== 'sha256-digest')
    throw invalid(`${place}.componentNameMapping: found ${shown(mapping)}; expected urlPath or sha256-digest`)
  return { prefix, mapping }
}

/** @throws BlueprintError for an invalid repository name. */
export function repositoryOf({ origin, prefix, mapping }: OciContext, component: string): OciRepository {
  const path =
    mapping === 'urlPath'
      ? joined(prefix, NAMESPACE, component)
      : joined(prefix, createHash('sha256').update(component).digest('hex'))
  if (isPath(path)) return { origin, path }
  throw invalid(`component ${shown(component)}: invalid name for an OCI registry; use lower-case letters and slashes`)
}

/** @throws BlueprintError when the version cannot be converted to a tag. */
export function tagOf(version: string): string {
  const tag = version.replaceAll('+', BUILD)
  if (TAG.test(tag)) return tag
  throw invalid(`version ${shown(version)}: invalid version for an OCI registry; expected one such as 1.2.0`)
}

export interface OciReference {
  readonly repository: OciRepository
  /** A tag or a digest; `latest` by default. */
  readonly reference: string
}

/** Parses `ghcr.io/acme/blueprint:1.2.0@sha256:...`; undefined for other texts. A digest takes precedence over a tag. */
export function readOciReference(text: string): OciReference | undefined {
  const [, named = '', digest] = /^([^@]*)(?:@(.*))?$/.exec(text) ?? []
  if (digest !== undefined && !isDigest(digest)) return undefined
  const [, address = '', tag = 'latest'] = /^(.*?)(?::([^:/]*))?$/.exec(named) ?? []
  const found = splitAddress(onDockerHub(address))
  if (found === undefined || !TAG.test(tag) || !isPath(found.path)) return undefined
  return { repository: found, reference: digest ?? tag }
}

// Docker's short forms: `alpine`, `acme/shop`.
function onDockerHub(address: string): string {
  const [first = '', ...rest] = address.split('/')
  if (address.includes('://') || /[.:]|^localhost$/.test(first)) return hubLibrary(address, first, rest)
  return rest.length === 0 ? `${DOCKER_HUB}/library/${address}` : `${DOCKER_HUB}/${address}`
}

function hubLibrary(address: string, host: string, rest: readonly string[]): string {
  return canonicalHost(host) === DOCKER_HUB && rest.length === 1 ? `${host}/library/${rest.join('/')}` : address
}

function splitAddress(address: string): OciRepository | undefined {
  if (address.length > MAX_ADDRESS) return undefined
  const [, scheme = 'https', host = '', path = ''] =
    /^(?:(https?):\/\/)?([\w.:[\]-]+)(?:\/([^?#]*))?$/.exec(address) ?? []
  const url = `${scheme}://${canonicalHost(host) === DOCKER_HUB ? DOCKER_HUB_SERVER : host}`
  return host !== '' && URL.canParse(url) ? { origin: new URL(url).origin, path: joined(path) } : undefined
}

function joined(...parts: readonly string[]): string {
  return parts
    .flatMap((part) => part.split('/'))
    .filter((part) => part !== '')
    .join('/')
}

const SHOWN = 100

function shown(value: unknown): string {
  if (typeof value !== 'string') return typeName(value)
  return JSON.stringify(value.length > SHOWN ? `${value.slice(0, SHOWN)}...` : value)
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
