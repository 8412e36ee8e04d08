// Opens the clusters of Targets, and caches their clients. Source: spec/landscaper.md 1.5, 4.6; docs/concepts/architecture.md "References".
//
//   G1. Target and Secret are read at each opening, so a change takes effect at the next one; a client is reused while neither changes.
//   G2. The credentials are always the Target's own. Missing or malformed credentials are an error, never a reason to use the engine's.
//   G3. A retired client is closed after it has been idle for a while, because an item may still use it.
//   G4. Connections to servers that a user names follow address-rule.ts; `selfConfig` connects to the engine's own server.

import { type Target, targetKind } from '../../../../workflows/landscaper/target/kind.ts'
import type { WatchedKind } from '../../../../workflows/kit/index.ts'
import type { KubeClient, KubeObject } from '../../../kube/client.ts'
import { resourcePath } from '../../../kube/resource-path.ts'
import { isFinal, isNamespaceTerminating, isNotFound, KubeError } from '../../../kube/errors.ts'
import { entriesOf, secretResource } from '../../../kube/core-kinds.ts'
import { type StoredAs, storedAs } from '../../../kube/object-views.ts'
import type { TenantData } from '../../bounded/tenant-data.ts'
import type { Tenant } from '../../bounded/thread-pool.ts'
import { configurationProblem, toDeployError } from '../run/deploy-errors.ts'
import { DeployError } from '../run/deployer.ts'
import { describe } from '../objects/readiness/field-reader.ts'
import { type AddressRule, createAddressRule } from './address-rule.ts'
import { createTargetCluster } from './discovery.ts'
import type { RefusedAddress } from './guarded-agent.ts'
import { type ClusterAccess, KubeconfigError } from './kubeconfig.ts'
import { requestSelfAccess, selfConfigProblem } from './service-account.ts'
import { unlessAborted } from './shared-work.ts'
import type { BeforeUse, SecretKey, TargetAccess, TargetCluster, TargetObjects } from './target-cluster.ts'
import { TargetClient } from './target-client.ts'
import {
  isObjectName,
  readSecretEntries,
  readSecretEntry,
  readTargetConfig,
  type TargetConfig,
} from './target-config.ts'

export const KUBERNETES_TARGET_TYPE = 'landscaper.gardener.cloud/kubernetes-cluster'

export interface TargetDeps {
  /** Parsers for Targets and their Secrets, with the tenant's limits. */
  readonly data: (tenant: Tenant) => TenantData
  /** The engine's own cluster, which has the Targets, their Secrets and ServiceAccounts. */
  readonly kube: KubeClient
  readonly now: () => Date
  /** True: ServiceAccounts are used as service-account.ts requires. */
  readonly strictTenancy?: boolean
  /** The additional allowed destinations of `--target-allow`. */
  readonly allow?: readonly string[]
}

const MAX_CLIENTS = 100
const MAX_IDLE_MS = 10 * 60_000
const OPERATION = 'OpenTarget'

export function createTargetAccess(deps: TargetDeps): TargetAccess {
  return new CachedTargets(deps)
}

interface OpenTarget {
  readonly cluster: TargetCluster
  readonly client: TargetClient
  /** When its token has to be renewed, in epoch milliseconds. */
  readonly renewAtMs: number
}

interface CachedTarget {
  /** Versions of the Target and Secret that the client uses. */
  readonly version: string
  readonly opened: Promise<OpenTarget>
}

/** A Target with its Secret, if it has one, as read; or a Secret alone, as if a Target referenced it. */
interface Source {
  /** Name of the object, for messages. */
  readonly at: string
  readonly target: Pick<Target, 'metadata' | 'spec'>
  readonly secret: KubeObject | undefined
}

class CachedTargets implements TargetAccess {
  readonly #deps: TargetDeps
  readonly #rule: AddressRule
  /** By uid of the Target, the least recently used first. */
  readonly #kept = new Map<string, CachedTarget>()
  #aside: TargetClient[] = []

  constructor(deps: TargetDeps) {
    this.#deps = deps
    this.#rule = createAddressRule(deps.allow ?? [])
  }

  async open(
    namespace: string,
    name: string,
    signal?: AbortSignal,
    beforeUse: BeforeUse = (objects) => Promise.resolve(objects),
  ): Promise<TargetCluster> {
    const { at, target, secret } = await readSource(this.#deps.kube, { namespace, name, signal })
    const used = await beforeUse({ target, secret }).catch((error: unknown) => {
      throw engineFailure(error)
    })
    return await this.#open({ at, ...used }, signal)
  }

  async openSecret(namespace: string, reference: SecretKey, signal?: AbortSignal): Promise<TargetCluster> {
    return await this.#open(await readSecretSource(this.#deps.kube, { namespace, ...reference, signal }), signal)
  }

  async serverOf(namespace: string, name: string, signal?: AbortSignal): Promise<string | undefined> {
    const { kube, data } = this.#deps
    const config = await configOf(data({ namespace, signal }), await readSource(kube, { namespace, name, signal }))
    return 'cluster' in config ? config.cluster.server : undefined
  }

  async #open(source: Source, signal: AbortSignal | undefined): Promise<TargetCluster> {
    if (this.#deps.strictTenancy === true) await checkTenancy(this.#deps, source, signal)
    const { uid } = source.target.metadata
    const version = versionOf(source)
    let cached = this.#kept.get(uid)
    if (cached?.version !== version || (await unlessAborted(this.#isOld(cached), signal))) {
      // Another call may have renewed the client meanwhile.
      const latest = this.#kept.get(uid)
      cached = latest !== cached && latest?.version === version ? latest : this.#replace(uid, { version, source })
    }
    this.#kept.delete(uid)
    this.#kept.set(uid, cached)
    this.#limit()
    const { client, cluster } = await unlessAborted(cached.opened, signal)
    const { silence } = client
    if (silence !== undefined) {
      const { operation, reason, message, codes } = toDeployError(OPERATION, silence)
      throw new DeployError(operation, reason, `${source.at}: ${message}; Pawl retries soon`, codes)
    }
    client.touch()
    return cluster
  }

  async close(): Promise<void> {
    const opened = await Promise.allSettled([...this.#kept.values()].map(async ({ opened }) => (await opened).client))
    const clients = [...this.#aside, ...opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))]
    this.#kept.clear()
    this.#aside = []
    await Promise.all(clients.map((client) => client.close()))
  }

  async #isOld({ opened }: CachedTarget): Promise<boolean> {
    return (await opened).renewAtMs <= this.#deps.now().getTime()
  }

  #replace(uid: string, { version, source }: { version: string; source: Source }): CachedTarget {
    this.#putAside(uid)
    const cached: CachedTarget = { version, opened: this.#connect(source, () => this.#forget(uid, cached)) }
    this.#kept.set(uid, cached)
    cached.opened.catch(() => this.#forget(uid, cached))
    return cached
  }

  #forget(uid: string, cached: CachedTarget): void {
    if (this.#kept.get(uid) === cached) this.#putAside(uid)
  }

  #putAside(uid: string): void {
    const cached = this.#kept.get(uid)
    this.#kept.delete(uid)
    cached?.opened.then(
      ({ client }) => this.#aside.push(client),
      () => undefined,
    )
  }

  #limit(): void {
    for (const uid of this.#kept.keys()) {
      if (this.#kept.size <= MAX_CLIENTS) break
      this.#putAside(uid)
    }
    const isIdle = ({ idleMs }: TargetClient) => idleMs > MAX_IDLE_MS
    for (const client of this.#aside.filter(isIdle)) void client.close()
    this.#aside = this.#aside.filter((client) => !isIdle(client))
  }

  async #connect(source: Source, forget: () => void): Promise<OpenTarget> {
    const { namespace } = source.target.metadata
    // Without the first caller's signal: other callers may wait for the same client.
    const config = await configOf(this.#deps.data({ namespace }), source)
    const { now } = this.#deps
    if ('cluster' in config) return this.#connectTo(config.cluster, source.at)
    const account = `${source.at}: spec.config.selfConfig.serviceAccount.name: ServiceAccount "${namespace}/${config.self.serviceAccount}"`
    const { access, renewAtMs } = await requestSelfAccess(this.#deps, namespace, config.self).catch(
      (error: unknown) => {
        if (isNotFound(error))
          throw configurationProblem(OPERATION, 'InvalidTarget', `${account} does not exist; create it`)
        throw engineFailure(error)
      },
    )
    // The account was recreated, or the server's keys changed: the next opening requests another token.
    const refused = () => {
      forget()
      return new DeployError(
        OPERATION,
        'Unauthorized',
        `${account}: the server rejects its token; Pawl retries with a new one`,
      )
    }
    return connected(new TargetClient({ access, now, refused }), { now, at: source.at, renewAtMs })
  }

  #connectTo(access: ClusterAccess, at: string): OpenTarget {
    const { now } = this.#deps
    const { server } = access
    const misled = (refusal: string) => configurationProblem(OPERATION, 'TargetNotAllowed', `${at}: ${refusal}`)
    const refusal = this.#rule.serverRefusal(server)
    if (refusal !== undefined) throw misled(refusal)
    const guard = {
      check: (address: string) => this.#rule.addressRefusal(server, address),
      refused: ({ message }: RefusedAddress) => misled(message),
    }
    const refused = (error: KubeError) => {
      const { reason, message, codes } = toDeployError(OPERATION, error)
      const found = `${at}: the server rejects the credentials (${message})`
      return new DeployError(OPERATION, reason, `${found}; renew them`, codes)
    }
    return connected(new TargetClient({ access, now, refused, guard }), { now, at, renewAtMs: Infinity })
  }
}

function connected(
  client: TargetClient,
  { now, at, renewAtMs }: { readonly now: () => Date; readonly at: string; readonly renewAtMs: number },
): OpenTarget {
  return { client, cluster: createTargetCluster(client, now, at), renewAtMs }
}

interface ObjectName {
  readonly namespace: string
  readonly name: string
  readonly signal: AbortSignal | undefined
}

async function readSource(kube: KubeClient, { namespace, name, signal }: ObjectName): Promise<Source & TargetObjects> {
  const at = `Target "${namespace}/${name}"`
  const target = await read(kube, targetKind, { namespace, name, signal })
  if (target === undefined) throw configurationProblem(OPERATION, 'NoTargetFound', `${at} does not exist; create it`)
  const { type, secretRef, config } = target.spec
  if (type !== KUBERNETES_TARGET_TYPE) {
    throw invalid(target, 'spec.type: found another type', `"${KUBERNETES_TARGET_TYPE}"`)
  }
  if ((config === undefined) === (secretRef === undefined)) {
    const found = config === undefined ? 'neither config nor secretRef' : 'both config and secretRef'
    throw invalid(target, `spec: found ${found}`, 'one of them')
  }
  if (secretRef === undefined) return { at, target, secret: undefined }
  const secret = await read(kube, secretResource, { namespace, name: secretRef.name, signal })
  if (secret === undefined)
    throw configurationProblem(
      OPERATION,
      'InvalidTarget',
      `${at}: spec.secretRef.name: Secret "${namespace}/${secretRef.name}" does not exist; create it`,
    )
  return { at, target, secret }
}

async function readSecretSource(kube: KubeClient, { key, ...place }: ObjectName & SecretKey): Promise<Source> {
  const at = `Secret "${place.namespace}/${place.name}"`
  const secret = await read(kube, secretResource, place)
  if (secret === undefined) throw configurationProblem(OPERATION, 'NoTargetFound', `${at} does not exist; create it`)
  const metadata = { ...secret.metadata, namespace: place.namespace, uid: `${secret.metadata.uid ?? ''}/${key}` }
  const secretRef = { name: place.name, key }
  return { at, target: { metadata: metadata as Target['metadata'], spec: { type: '', secretRef } }, secret }
}

/** Undefined if the object does not exist. A name that no object can have is not requested. */
async function read<Watched extends WatchedKind>(
  kube: KubeClient,
  watched: Watched,
  { namespace, name, signal }: ObjectName,
): Promise<StoredAs<Watched> | undefined> {
  if (!isObjectName(name)) return undefined
  try {
    return storedAs(watched, await kube.request<KubeObject>('GET', resourcePath(watched, namespace, name), { signal }))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw engineFailure(error)
  }
}

async function checkTenancy(
  { kube, data }: TargetDeps,
  source: Source,
  signal: AbortSignal | undefined,
): Promise<void> {
  const config = await configOf(data({ namespace: source.target.metadata.namespace, signal }), source)
  if (!('self' in config)) return
  const { target, at } = source
  const refusal = await selfConfigProblem(kube, target, config.self, signal).catch((error: unknown) => {
    throw engineFailure(error)
  })
  if (refusal !== undefined) throw configurationProblem(OPERATION, 'InvalidTarget', `${at}: ${refusal}`)
}

// Errors of the engine's own API server are not the Target's fault: without a code they are retried.
function engineFailure(error: unknown): unknown {
  if (!(error instanceof KubeError)) return error
  const codes = isFinal(error) || isNamespaceTerminating(error) ? ['ERR_CONFIGURATION_PROBLEM'] : []
  return new DeployError(OPERATION, error.reason, error.message, codes)
}

function versionOf({ target, secret }: Source): string {
  return [target, secret]
    .map((object) => `${object?.metadata.uid ?? ''}/${object?.metadata.resourceVersion ?? ''}`)
    .join(' ')
}

async function configOf(data: TenantData, { at, target, secret }: Source): Promise<TargetConfig> {
  try {
    const { config, secretRef } = target.spec
    if (secret === undefined) return await readTargetConfig(data, config, 'spec.config')
    return await readSecret(data, secret, secretRef?.key)
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error
    throw configurationProblem(OPERATION, 'InvalidTarget', `${at}: ${error.message}`)
  }
}

async function readSecret(data: TenantData, secret: KubeObject, key: string | undefined): Promise<TargetConfig> {
  const entries = entriesOf(secret) ?? {}
  const decoded = (name: string) => Buffer.from(entries[name] ?? '', 'base64').toString('utf8')
  const field = `Secret "${secret.metadata.namespace ?? ''}/${secret.metadata.name}"`
  if (key === undefined || key === '') {
    return await readSecretEntries(
      data,
      Object.fromEntries(Object.keys(entries).map((name) => [name, decoded(name)])),
      field,
    )
  }
  if (Object.hasOwn(entries, key)) return await readSecretEntry(data, decoded(key), `${field}, key "${key}"`)
  throw new KubeconfigError(`${field}, key "${key}"`, describe(undefined), 'a kubeconfig or a configuration')
}

function invalid({ metadata }: Target, found: string, expected: string): DeployError {
  const at = `Target "${metadata.namespace}/${metadata.name}"`
  return configurationProblem(OPERATION, 'InvalidTarget', `${at}: ${found}; expected ${expected}`)
}
