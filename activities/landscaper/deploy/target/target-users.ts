// Determines the Targets that a DeployItem needs. Pure.

import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { BUILT_IN_TYPES, QUICK_TYPES } from '../../../../workflows/landscaper/deploy-item/deployers.gen.ts'
import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { fieldsOf } from '../../../../workflows/kit/index.ts'

/** The names of Targets that the item deploys to, has deployed to, or reads from (`targetName` anywhere in its configuration). */
export function targetsOf({ spec, status }: DeployItem): ReadonlySet<string> {
  const remembered = fieldsOf(fieldsOf(status?.providerStatus)['target'])['name']
  // The manifests are objects of users, in which a field of this name has another meaning.
  const config = Object.entries(fieldsOf(spec.config)).filter(([key]) => key !== 'manifests')
  const names = [spec.target?.name, remembered, ...targetNames(Object.fromEntries(config))]
  return new Set(names.filter((name) => typeof name === 'string' && name !== '') as string[])
}

/**
 * Whether the item keeps its Targets. Only items that a run of Pawl uninstalls do: that run releases the Targets afterwards. No run would release the
 * Targets of an item that another program deploys.
 */
export function keepsTargets({ metadata, spec }: DeployItem): boolean {
  const { deletionTimestamp, finalizers = [] } = metadata
  const isReleased = deletionTimestamp !== undefined && !finalizers.includes(FINALIZER)
  return !isReleased && BUILT_IN_TYPES.has(spec.type) && !QUICK_TYPES.has(spec.type)
}

function targetNames(config: object): readonly unknown[] {
  const names: unknown[] = []
  // No recursion: a user's configuration may be nested deeper than the stack allows.
  const open: object[] = [config]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const [key, value] of Object.entries(next) as [string, unknown][]) {
      if (key === 'targetName') names.push(value)
      else if (typeof value === 'object' && value !== null) open.push(value)
    }
  }
  return names
}
