// Reports on an object that code of its controller threw an error: the condition `Ready` with status False and reason `Bug` (workflows/kit/run/bug-condition.ts).
//
//   R1. An object that has the report already is not written. A workflow task that fails repeatedly leads to one write.
//   R2. The write does not depend on the user's code. It is not an own write of the run, so its watch event wakes the object: the pass after the bug observes
//       the report and ends it.
//   R3. Kinds whose status has no conditions, and targets that passes never write, have no report on the object. The Event and the journal have it.

import {
  bugCondition,
  type Condition,
  type Controller,
  type LevelTarget,
  setCondition,
  type Subject,
} from '../../workflows/kit/index.ts'
import type { KubeClient, KubeObject } from '../kube/client.ts'
import { isConflict, isNotFound, KubeError } from '../kube/errors.ts'
import { FIELD_MANAGER_PREFIX } from '../kube/managed-fields.ts'
import { statusOf } from '../kube/object-views.ts'
import { resourcePath } from '../kube/resource-path.ts'

export interface ReportBugDeps {
  readonly kube: Pick<KubeClient, 'request'>
  readonly now: () => Date
}

const MAX_ATTEMPTS = 5

/**
 * The resourceVersion of the write. `present`: the object has the report already, or is gone. `impossible`: the kind cannot have it (R3), because the API
 * server drops or refuses the condition, or passes never write the object.
 */
type Report = { readonly version: string } | 'present' | 'impossible'

/**
 * Writes the condition (R1).
 *
 * @throws failures of the API server.
 */
export async function reportBug(
  deps: ReportBugDeps,
  { name, target }: Pick<Controller, 'name' | 'target'>,
  subject: Subject,
  message: string,
): Promise<Report> {
  const { isReadOnly, statusSubresource = true }: Partial<LevelTarget> = target
  if (isReadOnly === true) return 'impossible'
  const path = resourcePath(target, subject.namespace, subject.name)
  const statusPath = statusSubresource ? `${path}/status` : path
  const place = { statusPath, fieldManager: `${FIELD_MANAGER_PREFIX}${name}` }
  let attempts = 1
  for (;;) {
    const found = await readIfPresent(deps.kube, path)
    if (found?.metadata.uid !== subject.uid) return 'present'
    try {
      return await writeReport(deps, place, found, message)
    } catch (error) {
      if (mayPass(error) && attempts++ < MAX_ATTEMPTS) continue
      if (isImpossible(error)) return 'impossible'
      throw error
    }
  }
}

/** A 404 also means that the object was deleted since it was read. */
function mayPass(error: unknown): boolean {
  return isConflict(error) || isNotFound(error)
}

/** The kind has no status subresource, or its conditions have another schema. */
function isImpossible(error: unknown): boolean {
  return isNotFound(error) || (error instanceof KubeError && error.status === 422)
}

async function writeReport(
  { kube, now }: ReportBugDeps,
  { statusPath, fieldManager }: { readonly statusPath: string; readonly fieldManager: string },
  found: KubeObject,
  message: string,
): Promise<Report> {
  const before = conditionsOf(found)
  const { generation, resourceVersion } = found.metadata
  const conditions = setCondition(before, bugCondition(message, generation), now().toISOString())
  // R1
  if (conditions === before) return 'present'
  const answer = await kube.request<KubeObject>('PATCH', statusPath, {
    query: { fieldManager },
    body: { metadata: { resourceVersion }, status: { conditions } },
    contentType: 'application/merge-patch+json',
  })
  if (conditionsOf(answer)?.length !== conditions.length) return 'impossible'
  return { version: answer.metadata.resourceVersion ?? '' }
}

async function readIfPresent(kube: ReportBugDeps['kube'], path: string): Promise<KubeObject | undefined> {
  try {
    return await kube.request<KubeObject>('GET', path)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

function conditionsOf(object: KubeObject): readonly Condition[] | undefined {
  const { conditions } = statusOf(object) as { readonly conditions?: readonly Condition[] }
  return Array.isArray(conditions) ? conditions : undefined
}
