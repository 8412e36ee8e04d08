// What workflows see of a DeployItem: of its Execution, and of the group that deploys it. Its configuration stays out.

import { DEPENDS_ON_ANNOTATION, ITEM_NAME_LABEL } from '../../workflows/deploy-item/kind.ts'
import type { KubeObject } from './client.ts'

export interface DeployItemView {
  readonly uid: string
  readonly version: string
  /** Name of the object. */
  readonly name: string
  /** Name of the item in the Execution's spec. */
  readonly item: string
  readonly type: string
  readonly dependsOn: readonly string[]
  readonly deleting: boolean
  readonly finalizers: readonly string[]
  readonly phase: string | undefined
  readonly jobID: string | undefined
  readonly jobIDFinished: string | undefined
  readonly exportRef: { readonly name: string; readonly namespace?: string } | undefined
}

export function deployItemView(object: KubeObject): DeployItemView {
  const spec = (object['spec'] ?? {}) as { type?: string }
  const status = (object['status'] ?? {}) as Pick<DeployItemView, 'phase' | 'jobID' | 'jobIDFinished' | 'exportRef'>
  const { metadata } = object
  return {
    uid: metadata.uid ?? '',
    version: metadata.resourceVersion ?? '',
    name: metadata.name,
    item: metadata.labels?.[ITEM_NAME_LABEL] ?? metadata.name,
    type: spec.type ?? '',
    dependsOn: (metadata.annotations?.[DEPENDS_ON_ANNOTATION] ?? '').split(',').filter((name) => name !== ''),
    deleting: metadata.deletionTimestamp !== undefined,
    finalizers: metadata.finalizers ?? [],
    phase: status.phase,
    jobID: status.jobID,
    jobIDFinished: status.jobIDFinished,
    exportRef: status.exportRef,
  }
}
