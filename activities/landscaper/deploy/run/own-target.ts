// The Target of an item. Source: spec/landscaper.md 1.4; decisions on appendix B: references never leave the namespace.

import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { DeployError } from './deployer.ts'

/** Its name, in the item's namespace. @throws DeployError `NoTargetFound`, `InvalidTarget`; both final. */
export function ownTarget({ metadata, spec }: DeployItem): string {
  const { target } = spec
  const codes = ['ERR_CONFIGURATION_PROBLEM']
  if (target === undefined || target.name === '') {
    const found = target === undefined ? 'spec.target is absent' : 'spec.target.name is empty'
    const message = `deploy item ${metadata.name}: ${found}; expected a target of this namespace`
    throw new DeployError('Reconcile', 'NoTargetFound', message, codes)
  }
  if (target.namespace === undefined || target.namespace === metadata.namespace) return target.name
  const found = `deploy item ${metadata.name}: spec.target.namespace is ${target.namespace}`
  const message = `${found}; expected ${metadata.namespace}, references never leave it`
  throw new DeployError('Reconcile', 'InvalidTarget', message, codes)
}
