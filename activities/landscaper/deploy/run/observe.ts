// Reads items: for the run of one item, and for the run of the Execution that hosts them.

import { type DeployItem, deployItemKind } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { executionKind } from '../../../../workflows/landscaper/execution/kind.ts'
import { isTypeHandled } from '../../../../workflows/landscaper/deploy-item/handled-types.ts'
import type { By, Subject } from '../../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../../deps.ts'
import { readFamily, readSubject } from '../../../kube/read-family.ts'
import { declaredChildren, observe } from '../../../run/observe.ts'
import { type DeployItemView, deployItemView } from '../../deploy-item-view.ts'

/** The reading run. */
export interface Observer {
  readonly by: By
  readonly subject: Subject
}

export const observeActivities = (deps: LandscaperDeps) => ({
  /**
   * Reads an item.
   *
   * @returns undefined when it is deleted, or its name belongs to another object.
   * @throws retryable failures of the API server and the journal.
   */
  async observeDeployItem({ by, subject }: Observer): Promise<DeployItemView | undefined> {
    const item = await observe(deps, by, readSubject(deps, deployItemKind, subject))
    return item && deployItemView(item, by, deps)
  },
})

/** The items of an Execution whose types its run handles, bodies included; or the item that is the subject itself. */
export async function readItems(
  deps: LandscaperDeps,
  { by, subject }: Observer,
  ownVersion: number,
): Promise<readonly DeployItem[]> {
  if (subject.kind !== executionKind.kind) {
    const item = await readSubject(deps, deployItemKind, subject)
    return item === undefined ? [] : [item]
  }
  const items = declaredChildren(deps, { by, subject, state: 'deployItems', watched: deployItemKind, ownVersion })
  const { children } = await readFamily(deps, executionKind, subject, items)
  return children
    .filter((item) => isTypeHandled(item.spec.type, by))
    .sort((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1))
}
