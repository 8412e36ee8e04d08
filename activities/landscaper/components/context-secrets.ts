// Reads the registry credentials of a Context: its pull secrets and its OCM configuration. Source: spec/landscaper.md 1.7; docs/concepts/security.md "Where
// registries lead".
//
//   K1. Only objects in the Context's namespace are read. The worker's own credentials are never used for tenants.

import type { WatchedKind } from '../../../workflows/kit/index.ts'
import type { Context } from '../../../workflows/landscaper/context/kind.ts'
import { configMapResource, entriesOf, secretResource } from '../../kube/core-kinds.ts'
import type { KubeObject } from '../../kube/client.ts'
import { readObject } from '../../kube/read-family.ts'
import type { LandscaperDeps } from '../deps.ts'
import { BlueprintError } from '../render/render-errors.ts'
import { YamlError } from '../../yaml/read-yaml.ts'
import { jsonOf } from './registry-client.ts'
import { readDockerConfig, readOcmConfig, type CredentialEntry } from './registry-credentials.ts'
import type { TrustedKeys } from './verify-signature.ts'

const CONFIG_KEY = '.ocmconfig'
const DOCKER_KEYS = { '.dockerconfigjson': 'config.json', '.dockercfg': '.dockercfg' } as const
const MAX_SECRETS = 50

/**
 * @returns lists in order of precedence: the first list with a credential for a repository is used. The OCM configuration comes first, then the pull
 * secrets.
 * @throws BlueprintError with the field of the Context and the problem; retryable failures of the API server.
 */
export async function credentialsOf(
  deps: LandscaperDeps,
  namespace: string,
  context: Context | undefined,
): Promise<readonly (readonly CredentialEntry[])[]> {
  if (context === undefined) return []
  const place = `Context "${namespace}/${context.metadata.name}"`
  const { registryPullSecrets = [], ocmConfig } = context
  if (registryPullSecrets.length > MAX_SECRETS)
    throw invalid(`${place}: registryPullSecrets: found ${registryPullSecrets.length}; expected at most ${MAX_SECRETS}`)
  const lists =
    ocmConfig?.name === undefined ? [] : [await readOcmCredentials(deps, { namespace, name: ocmConfig.name, place })]
  for (const [index, { name }] of registryPullSecrets.entries())
    lists.push(
      await pullSecret(deps, { namespace, name: name ?? '', place: `${place}: registryPullSecrets[${index}]` }),
    )
  return lists
}

interface SecretLocation {
  readonly namespace: string
  readonly name: string
  readonly place: string
}

async function readOcmCredentials(
  deps: LandscaperDeps,
  { place, ...named }: SecretLocation,
): Promise<readonly CredentialEntry[]> {
  const at = `${place}: ocmConfig: ConfigMap "${named.namespace}/${named.name}"`
  const map = await read(deps, configMapResource, { ...named, place: at })
  const text = entriesOf(map)?.[CONFIG_KEY]
  if (text === undefined) throw invalid(`${at}: key "${CONFIG_KEY}" is missing; add it`)
  try {
    return readOcmConfig(
      await deps.landscaper.templates.data.yaml(text, `${at}, ${CONFIG_KEY}`),
      `${at}, ${CONFIG_KEY}`,
    )
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    throw invalid(`${at}, ${CONFIG_KEY}: not valid YAML, line ${error.line}; expected an OCM configuration`)
  }
}

async function pullSecret(
  deps: LandscaperDeps,
  { place, ...named }: SecretLocation,
): Promise<readonly CredentialEntry[]> {
  const at = `${place}: Secret "${named.namespace}/${named.name}"`
  const entries = entriesOf(await read(deps, secretResource, { ...named, place: at })) ?? {}
  for (const [key, form] of Object.entries(DOCKER_KEYS)) {
    const packed = entries[key]
    if (packed !== undefined) return readDockerConfig(jsonOf(Buffer.from(packed, 'base64')), `${at}, ${key}`, form)
  }
  throw invalid(`${at}: found neither ${Object.keys(DOCKER_KEYS).join(' nor ')}; add one of these keys`)
}

async function read(
  deps: LandscaperDeps,
  watched: WatchedKind,
  { namespace, name, place }: SecretLocation,
): Promise<KubeObject> {
  const found = /^[a-z0-9.-]+$/.test(name) ? await readObject(deps, watched, namespace, name) : undefined
  if (found !== undefined) return found
  throw invalid(`${place} does not exist; create it`)
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}

// Reads the keys of a Context for a signature. Source: spec/landscaper.md 1.7.
//
//   K1. Only Secrets in the Context's namespace are read: the author of a Context must not use, or learn about, Secrets of other namespaces.

type KeyReference = NonNullable<NonNullable<Context['verificationSignatures']>[string]['publicKeySecretReference']>

const FIELDS = ['publicKeySecretReference', 'caCertificateSecretReference'] as const

/**
 * @param named the Context's name; the Context may not exist.
 * @throws BlueprintError with the field of the Context and the problem; retryable failures of the API server.
 */
export async function keysOf(
  deps: LandscaperDeps,
  namespace: string,
  { context, named, signatureName }: { context: Context | undefined; named: string; signatureName: string },
): Promise<TrustedKeys> {
  const signatures = context?.verificationSignatures ?? {}
  const place = `Context "${namespace}/${named}": verificationSignatures.${signatureName.slice(0, 100)}`
  const found = Object.hasOwn(signatures, signatureName) ? signatures[signatureName] : undefined
  const [publicKey, authority] = FIELDS.map((field) => found?.[field])
  if (publicKey === undefined && authority === undefined)
    throw invalid(`${place}: key is missing; add ${FIELDS.join(' or ')}`)
  return {
    publicKey: publicKey && (await keyIn(deps, namespace, publicKey, `${place}.${FIELDS[0]}`)),
    authorities: authority && (await keyIn(deps, namespace, authority, `${place}.${FIELDS[1]}`)),
  }
}

async function keyIn(
  deps: LandscaperDeps,
  namespace: string,
  { name, namespace: at, key }: KeyReference,
  place: string,
) {
  if (at !== undefined && at !== '' && at !== namespace)
    throw invalid(`${place}: namespace: found "${at.slice(0, 100)}"; expected the namespace of the Context, or nothing`)
  const where = `${place}: Secret "${namespace}/${name}"`
  const secret = /^[a-z0-9.-]+$/.test(name) ? await readObject(deps, secretResource, namespace, name) : undefined
  if (secret === undefined) throw invalid(`${where} does not exist; create it`)
  const packed = entryOf(entriesOf(secret) ?? {}, key ?? '', where)
  return { pem: Buffer.from(packed, 'base64').toString('utf8'), place: `Secret "${namespace}/${name}"` }
}

/** Without a key: the only entry. */
function entryOf(entries: Readonly<Record<string, string>>, key: string, where: string): string {
  const keys = Object.keys(entries)
  if (key === '' && keys.length !== 1)
    throw invalid(`${where}: found ${keys.length} keys; expected one, or the name of one in "key"`)
  const wanted = key === '' ? (keys[0] ?? '') : key
  const found = Object.hasOwn(entries, wanted) ? entries[wanted] : undefined
  if (found === undefined) throw invalid(`${where}: key "${wanted.slice(0, 100)}" is missing; add it`)
  return found
}
