// Parses the configuration of a Target of a Kubernetes cluster. Pure. Source: spec/landscaper.md 1.5, 4.6.

import { describe, type Fields, isMap } from '../objects/readiness/field-reader.ts'
import { type ClusterAccess, KubeconfigError, readKubeconfig } from './kubeconfig.ts'
import type { TenantData } from '../../bounded/tenant-data.ts'

/** Access to the cluster of the Target object itself, as a ServiceAccount of the Target's namespace. */
export interface SelfConfig {
  readonly serviceAccount: string
  /** Lifetime of the requested token. */
  readonly expirationSeconds: number
}

/** Parses YAML texts of tenants within limits for time and memory. */
type YamlReader = Pick<TenantData, 'document'>

export type TargetConfig = { readonly cluster: ClusterAccess } | { readonly self: SelfConfig }

const DEFAULT_EXPIRATION_SECONDS = 86_400
// Source: the API server's own bounds of a TokenRequest.
const LEAST_EXPIRATION_SECONDS = 600
const MOST_EXPIRATION_SECONDS = 2 ** 32

const CONFIG_FIELDS = ['kubeconfig', 'selfConfig', 'oidcConfig']

/** @param field the name of the configuration in errors. @throws KubeconfigError */
export async function readTargetConfig(yaml: YamlReader, config: unknown, field: string): Promise<TargetConfig> {
  if (!isMap(config)) throw new KubeconfigError(field, describe(config), 'a map with kubeconfig or selfConfig')
  const given = CONFIG_FIELDS.filter((name) => Object.hasOwn(config, name) && config[name] !== null)
  if (given.includes('oidcConfig')) {
    throw new KubeconfigError(`${field}.oidcConfig`, 'a value, which Pawl does not support', 'kubeconfig or selfConfig')
  }
  if (given.length !== 1) {
    const found = given.length === 0 ? 'neither kubeconfig nor selfConfig' : 'both kubeconfig and selfConfig'
    throw new KubeconfigError(field, found, 'one of them')
  }
  if (given[0] === 'selfConfig') return { self: readSelfConfig(config['selfConfig'], `${field}.selfConfig`) }
  const { kubeconfig } = config
  if (isMap(kubeconfig) && Object.hasOwn(kubeconfig, 'secretRef')) {
    throw new KubeconfigError(`${field}.kubeconfig.secretRef`, 'a value', 'spec.secretRef of the Target instead')
  }
  const at = `${field}.kubeconfig`
  return { cluster: readKubeconfig(await parseIfText(yaml, kubeconfig, at), at) }
}

/** Parses one key of a Secret: the configuration, or a bare kubeconfig. @throws KubeconfigError */
export async function readSecretEntry(yaml: YamlReader, text: string, field: string): Promise<TargetConfig> {
  const read = await yaml.document(text)
  if ('problem' in read) throw new KubeconfigError(field, read.problem, 'a kubeconfig or a configuration in YAML')
  const isConfig = isMap(read.value) && CONFIG_FIELDS.some((name) => Object.hasOwn(read.value as Fields, name))
  if (isConfig) return await readTargetConfig(yaml, read.value, field)
  // A bare kubeconfig may be a YAML string that contains the kubeconfig as text.
  return { cluster: readKubeconfig(await parseIfText(yaml, read.value, field), field) }
}

/** Parses a whole Secret: its keys are the fields of the configuration. @param entries base64-decoded. @throws KubeconfigError */
export async function readSecretEntries(
  yaml: YamlReader,
  entries: Readonly<Record<string, string>>,
  field: string,
): Promise<TargetConfig> {
  const given = CONFIG_FIELDS.filter((name) => Object.hasOwn(entries, name))
  const config: (readonly [string, unknown])[] = []
  for (const name of given) {
    const read = await yaml.document(entries[name] ?? '')
    if ('problem' in read) throw new KubeconfigError(`${field}.${name}`, read.problem, 'YAML')
    config.push([name, read.value])
  }
  return await readTargetConfig(yaml, Object.fromEntries(config), field)
}

/** Parses a kubeconfig that is a text; returns any other value unchanged. @throws KubeconfigError */
async function parseIfText(yaml: YamlReader, value: unknown, field: string): Promise<unknown> {
  if (typeof value !== 'string') return value
  const read = await yaml.document(value)
  if ('problem' in read) throw new KubeconfigError(field, read.problem, 'a kubeconfig')
  return read.value
}

function readSelfConfig(value: unknown, field: string): SelfConfig {
  if (!isMap(value)) throw new KubeconfigError(field, describe(value), 'a map with serviceAccount')
  const { serviceAccount, expirationSeconds = DEFAULT_EXPIRATION_SECONDS } = value
  if (!isMap(serviceAccount))
    throw new KubeconfigError(`${field}.serviceAccount`, describe(serviceAccount), 'a map with name')
  const { name } = serviceAccount
  if (typeof name !== 'string' || !isObjectName(name)) {
    throw new KubeconfigError(`${field}.serviceAccount.name`, describe(name), 'the name of a ServiceAccount')
  }
  if (serviceAccount['namespace'] !== undefined) {
    throw new KubeconfigError(
      `${field}.serviceAccount.namespace`,
      'a value',
      'nothing, because the account is in the namespace of the Target',
    )
  }
  const isDuration =
    Number.isInteger(expirationSeconds) &&
    (expirationSeconds as number) >= LEAST_EXPIRATION_SECONDS &&
    (expirationSeconds as number) <= MOST_EXPIRATION_SECONDS
  if (!isDuration) {
    const found = typeof expirationSeconds === 'number' ? 'another number' : describe(expirationSeconds)
    throw new KubeconfigError(
      `${field}.expirationSeconds`,
      found,
      `whole seconds, at least ${LEAST_EXPIRATION_SECONDS}`,
    )
  }
  return { serviceAccount: name, expirationSeconds: expirationSeconds as number }
}

/**
 * Whether a text can be the name of an object. It may contain only the characters of RFC 1123 subdomains. A name
 * without a slash adds no segment to the path of a request.
 */
export function isObjectName(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/.test(name)
}
