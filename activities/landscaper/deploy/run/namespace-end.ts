// Handles an item whose Target acts as a ServiceAccount of the namespace (`selfConfig`) while that namespace is being deleted. Kubernetes deletes the
// account and its rights in any order; without them the item cannot be uninstalled. Kubernetes also deletes the objects in the namespace. Source:
// docs/adr/0064.
//
//   N1. An item is released only if all objects that it has deployed are in the namespace.
//   N2. The API server decides whether the namespace is being deleted: it answers a dry run of a create with NamespaceTerminating. Any other answer
//       proves nothing.

import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import type { LandscaperDeps } from '../../deps.ts'
import { isNamespaceTerminating, KubeError } from '../../../kube/errors.ts'
import { resourcePath } from '../../../kube/resource-path.ts'
import { secretResource } from '../../../kube/core-kinds.ts'
import { readManaged } from '../objects/managed-resources.ts'
import { targetsOf } from '../target/target-users.ts'
import { configurationProblem } from './deploy-errors.ts'
import { DeployError } from './deployer.ts'
import { joinNames } from '../../../../workflows/kit/index.ts'

/**
 * Decides about an item whose uninstallation failed.
 *
 * @returns 'released' if Kubernetes deletes its objects. A final DeployError if objects are elsewhere and can no longer be deleted. Otherwise
 * undefined.
 */
export async function outcomeInTerminatingNamespace(
  deps: LandscaperDeps,
  item: DeployItem,
  error: DeployError,
): Promise<'released' | DeployError | undefined> {
  const { namespace, name } = item.metadata
  if (!(await usesOwnNamespace(deps, item)) || !(await isTerminating(deps, namespace))) return undefined
  const resources = readManaged(item.status?.providerStatus).map(({ resource }) => resource)
  const outside = resources.filter((one) => one.namespace !== namespace)
  if (outside.length === 0) return 'released'
  if (!error.isFinal) return undefined
  const names = outside.map((one) => `${one.kind} ${one.namespace === undefined ? '' : `${one.namespace}/`}${one.name}`)
  const found = `deploy item "${name}": the namespace "${namespace}" is being deleted, and with it the ServiceAccount that could delete ${joinNames(names, NAMES_SHOWN)}`
  const expected = `delete these objects; then annotate the root with ${WITHOUT_UNINSTALL}: "true" and reconcile it`
  return configurationProblem(error.operation, REASON, `${found} (${error.message}); ${expected}`)
}

const REASON = 'NamespaceTerminating'
const NAMES_SHOWN = 3
const WITHOUT_UNINSTALL = 'landscaper.gardener.cloud/delete-without-uninstall'

async function usesOwnNamespace({ landscaper }: LandscaperDeps, item: DeployItem): Promise<boolean> {
  const names = targetsOf(item)
  if (names.size === 0) return false
  try {
    for (const name of names)
      if ((await landscaper.targets.serverOf(item.metadata.namespace, name)) !== undefined) return false
    return true
  } catch (error) {
    if (error instanceof DeployError || error instanceof KubeError) return false
    throw error
  }
}

/** N2 */
async function isTerminating({ kube }: LandscaperDeps, namespace: string): Promise<boolean> {
  const body = { apiVersion: 'v1', kind: 'Secret', metadata: { generateName: 'pawl-dry-run-' } }
  try {
    await kube.request('POST', resourcePath(secretResource, namespace), { query: { dryRun: 'All' }, body })
    return false
  } catch (error) {
    if (error instanceof KubeError) return isNamespaceTerminating(error)
    throw error
  }
}
