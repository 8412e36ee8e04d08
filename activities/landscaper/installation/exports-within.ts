// What sub-installations have exported into the scope of their parent. Source: spec/landscaper.md 3.6 "Template bindings".

import { CONTEXT_LABEL, KEY_LABEL, SOURCE_TYPE_LABEL } from '../../../workflows/landscaper/contract.ts'
import { dataObjectKind } from '../../../workflows/landscaper/data-object/kind.ts'
import { installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import { targetKind } from '../../../workflows/landscaper/target/kind.ts'
import type { LandscaperDeps } from '../deps.ts'
import { labelValue } from '../label-value.ts'
import { listObjects } from '../../kube/read-family.ts'
import { isOwnedBy } from '../../kube/owners.ts'
import type { ExportBindings } from '../render/executions.ts'
import { installationContext } from '../render/names.ts'
import { targetObject } from './imports.ts'
import { readSubInstallations } from './observe.ts'

/** By the names under which they were exported: values, and Targets as templates see them. */
export async function exportsWithin(
  deps: LandscaperDeps,
  by: By,
  subject: Subject,
): Promise<Pick<ExportBindings, 'dataobjects' | 'targets'>> {
  const { namespace, name } = subject
  const labelSelector = [
    `${CONTEXT_LABEL}=${labelValue(installationContext(name))}`,
    `${SOURCE_TYPE_LABEL}=export`,
  ].join(',')
  const [subs, data, targets] = await Promise.all([
    readSubInstallations(deps, by, subject),
    listObjects(deps, dataObjectKind, namespace, { labelSelector }),
    listObjects(deps, targetKind, namespace, { labelSelector }),
  ])
  const isOfSub = (one: (typeof data)[number] | (typeof targets)[number]) =>
    subs.some(({ metadata: { uid, name: sub } }) => isOwnedBy(one, installationKind, { uid, name: sub, namespace }))
  const keyOf = (labels: Readonly<Record<string, string>> = {}) => labels[KEY_LABEL] ?? ''
  return {
    dataobjects: Object.fromEntries(data.filter(isOfSub).map((one) => [keyOf(one.metadata.labels), one.data ?? null])),
    targets: Object.fromEntries(targets.filter(isOfSub).map((one) => [keyOf(one.metadata.labels), targetObject(one)])),
  }
}
