// Determines the order in which the objects of an item are applied: Namespaces, CustomResourceDefinitions, other
// cluster-scoped objects, ServiceAccounts, kinds that other objects refer to, other namespaced objects. Source:
// spec/landscaper.md 4.2 "Apply algorithm" 2. Landscaper has only three classes: CRDs, cluster-scoped and namespaced
// objects.

import { DeployError } from '../run/deployer.ts'
import type { ServedKind, TargetCluster } from '../target/target-cluster.ts'
import { isMap } from './config-reader.ts'
import { isCrd } from './deletion-groups.ts'
import type { Desired, Manifest } from './manifest.ts'
import type { KubeObject } from '../../../kube/client.ts'
import { inParallel } from '../../../kube/in-parallel.ts'
import { readObject } from '../target/read-object.ts'
import type { ResourceRef } from './managed-resources.ts'

/** The classes in the order in which they are applied, as listed above. `namespace`: all other namespaced objects. */
export const CLASSES = ['tenancy', 'definition', 'cluster', 'account', 'referred', 'namespace'] as const
export type PlacementClass = (typeof CLASSES)[number]

/**
 * The class of kinds with a fixed class, by `kindKey`. Kubernetes removes a token Secret that is created before its
 * ServiceAccount, and may reject a RoleBinding whose Role does not exist. Pods use Secrets, ConfigMaps and
 * PersistentVolumeClaims. LimitRanges and ResourceQuotas are enforced only for later creations.
 */
const FIRST: ReadonlyMap<string, PlacementClass> = new Map([
  ['v1|Namespace', 'tenancy'],
  ['v1|ServiceAccount', 'account'],
  ...['Secret', 'ConfigMap', 'PersistentVolumeClaim', 'LimitRange', 'ResourceQuota'].map(
    (kind) => [`v1|${kind}`, 'referred'] as const,
  ),
  ['rbac.authorization.k8s.io/v1|Role', 'referred'],
])

/** A kind that a CustomResourceDefinition of the same item defines. */
export interface DefinedKind {
  readonly crd: string
  readonly namespaced: boolean
}

type Kinds = ReadonlyMap<string, DefinedKind>

/** The kinds, by `kindKey`, that CRDs of the item define. */
export function definedKinds(manifests: readonly Manifest[]): Kinds {
  const kinds = manifests.flatMap(({ object }) => (isCrd(object) ? kindsOf(object) : []))
  return new Map(kinds)
}

export const kindKey = ({ apiVersion, kind }: { apiVersion: string; kind: string }) => `${apiVersion}|${kind}`

function kindsOf(crd: Desired): [string, DefinedKind][] {
  const spec = isMap(crd['spec']) ? crd['spec'] : {}
  const kind = isMap(spec['names']) ? spec['names']['kind'] : undefined
  const list: readonly unknown[] = Array.isArray(spec['versions']) ? spec['versions'] : []
  const versions = [spec['version'], ...list.map((entry) => (isMap(entry) ? entry['name'] : undefined))]
  const { group } = spec
  if (typeof kind !== 'string' || typeof group !== 'string') return []
  const defined = { crd: crd.metadata.name, namespaced: spec['scope'] === 'Namespaced' }
  return versions
    .filter((version) => typeof version === 'string')
    .map((version) => [kindKey({ apiVersion: `${group}/${version}`, kind }), defined])
}

interface KindRequest {
  readonly target: TargetCluster
  readonly signal: AbortSignal
}

/**
 * The class of an object. For kinds without a fixed class the scope decides: of the CustomResourceDefinition, if the
 * same item has one for the kind (`own`), otherwise as the cluster's discovery returns it.
 */
export async function classOf(asking: KindRequest, { object }: Manifest, own: Kinds): Promise<PlacementClass> {
  if (isCrd(object)) return 'definition'
  const first = FIRST.get(kindKey(object))
  if (first !== undefined) return first
  const defined = own.get(kindKey(object))
  const { namespaced } = defined ?? (await servedKind(asking, object))
  return namespaced ? 'namespace' : 'cluster'
}

const NOT_SERVED = { operation: 'ApplyManifests', reason: 'KindNotServed' }

/**
 * @throws DeployError for a kind that the cluster does not serve. It has no code, so it is retryable: another item or
 * tool may create the definition.
 */
export async function servedKind({ target, signal }: KindRequest, { apiVersion, kind }: Desired): Promise<ServedKind> {
  const served = await target.servedKind(apiVersion, kind, signal)
  if (served !== undefined) return served
  const message = `the target does not serve kind "${kind}" of ${apiVersion}; correct apiVersion and kind, or deploy the CustomResourceDefinition`
  throw new DeployError(NOT_SERVED.operation, NOT_SERVED.reason, message)
}

// Determines when a CustomResourceDefinition can be used: when its condition Established is True. Pawl applies custom
// resources of the same item only then. Landscaper does not wait (spec/landscaper.md 4.2 step 3): its first attempt to
// create them may fail, and is retried after 5 s.

const READS_AT_ONCE = 10

/** A message that the definition is not established; undefined when it is. */
export function unestablished(definition: KubeObject): string | undefined {
  const conditions = conditionsOf(definition)
  if (conditions.some(({ type, status }) => type === 'Established' && status === 'True')) return undefined
  const why = isRefused(definition) ? ', because another definition uses its names' : ''
  return `CustomResourceDefinition "${definition.metadata.name}" is not established${why}`
}

/**
 * The first of the CustomResourceDefinitions in `resources` that the API server has not established yet. Skips
 * definitions whose names another definition uses: the API server does not establish them while that definition exists.
 */
export async function awaitedDefinition(
  target: TargetCluster,
  resources: readonly ResourceRef[],
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const definitions = await inParallel(resources.filter(isCrd), READS_AT_ONCE, (one) => readObject(target, one, signal))
  return definitions.find((one) => one !== undefined && unestablished(one) !== undefined && !isRefused(one))
}

function isRefused(definition: KubeObject): boolean {
  return conditionsOf(definition).some(({ type, status }) => type === 'NamesAccepted' && status === 'False')
}

function conditionsOf({ status }: KubeObject) {
  const conditions: unknown = isMap(status) ? status['conditions'] : undefined
  return Array.isArray(conditions) ? conditions.filter(isMap) : []
}
