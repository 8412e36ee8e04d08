// What the Execution's workflow sees: its graph and the states of its deploy items. Item configurations stay here.

import type { TargetView } from '../../workflows/kit/index.ts'
import type { KubeObject } from '../kube/client.ts'
import { targetView, withoutUninstall } from '../kube/views.ts'
import { decodeItems } from './items.ts'

export interface ItemView {
  readonly name: string
  readonly type: string
  readonly dependsOn: readonly string[]
}

export interface ExecutionView extends TargetView {
  readonly items: readonly ItemView[]
  /** Why the items cannot be read, for the user. */
  readonly problem: string | undefined
  readonly withoutUninstall: boolean
}

export function executionView(object: KubeObject): ExecutionView {
  const decoded = decodeItems(object)
  const items = 'problem' in decoded ? [] : decoded.items
  return {
    ...targetView(object),
    items: items.map(({ name, type, dependsOn }) => ({ name, type, dependsOn: dependsOn ?? [] })),
    problem: 'problem' in decoded ? decoded.problem : undefined,
    withoutUninstall: withoutUninstall(object),
  }
}
