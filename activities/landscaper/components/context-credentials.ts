// Reads the registry credentials of a Context: its pull secrets and its OCM configuration. Source: spec/landscaper.md 1.7; docs/security.md "Where
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
  const place = `context ${namespace}/${context.metadata.name}`
  const { registryPullSecrets = [], ocmConfig } = context
  if (registryPullSecrets.length > MAX_SECRETS)
    throw invalid(`${place}: registryPullSecrets: found ${registryPullSecrets.length}, expected at most ${MAX_SECRETS}`)
  const lists =
    ocmConfig?.name === undefined ? [] : [await configured(deps, { namespace, name: ocmConfig.name, place })]
  for (const [index, { name }] of registryPullSecrets.entries())
    lists.push(
      await pullSecret(deps, { namespace, name: name ?? '', place: `${place}: registryPullSecrets[${index}]` }),
    )
  return lists
}

interface Named {
  readonly namespace: string
  readonly name: string
  readonly place: string
}

async function configured(deps: LandscaperDeps, { place, ...named }: Named): Promise<readonly CredentialEntry[]> {
  const at = `${place}: ocmConfig: config map ${named.namespace}/${named.name}`
  const map = await read(deps, configMapResource, { ...named, place: at })
  const text = entriesOf(map)?.[CONFIG_KEY]
  if (text === undefined) throw invalid(`${at}: found no key ${CONFIG_KEY}, expected one`)
  try {
    return readOcmConfig(
      await deps.landscaper.templates.data.yaml(text, `${at}, ${CONFIG_KEY}`),
      `${at}, ${CONFIG_KEY}: it`,
    )
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    throw invalid(`${at}, ${CONFIG_KEY}: found no YAML at line ${error.line}, expected a configuration of OCM`)
  }
}

async function pullSecret(deps: LandscaperDeps, { place, ...named }: Named): Promise<readonly CredentialEntry[]> {
  const at = `${place}: secret ${named.namespace}/${named.name}`
  const entries = entriesOf(await read(deps, secretResource, { ...named, place: at })) ?? {}
  for (const [key, form] of Object.entries(DOCKER_KEYS)) {
    const packed = entries[key]
    if (packed !== undefined) return readDockerConfig(jsonOf(Buffer.from(packed, 'base64')), `${at}, ${key}`, form)
  }
  throw invalid(`${at}: found no key ${Object.keys(DOCKER_KEYS).join(' and no ')}, expected one of them`)
}

async function read(
  deps: LandscaperDeps,
  watched: WatchedKind,
  { namespace, name, place }: Named,
): Promise<KubeObject> {
  const found = /^[a-z0-9.-]+$/.test(name) ? await readObject(deps, watched, namespace, name) : undefined
  if (found !== undefined) return found
  throw invalid(`${place}: it is not there, expected it`)
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
