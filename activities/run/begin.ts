// The first write of a job that its subject starts itself: the job ID and the first phase, fenced, so that exactly one run has the job.
// Source: design.md "A root's new job".

import { installationTrigger } from '../../workflows/landscaper/installation/kind.ts'
import type { By, Subject, TargetView } from '../../workflows/kit/index.ts'
import { isIdle } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import type { KubeObject } from '../kube/client.ts'
import { toApplicationFailure } from '../kube/errors.ts'
import { watchedKind } from '../kube/kinds.ts'
import { targetView } from '../kube/views.ts'
import { fieldManagerOf, type Patch, writeAll } from '../kube/write.ts'

export interface BeginInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  /** What the pass observed, idle and triggered. */
  readonly target: Pick<TargetView, 'version' | 'generation' | 'deleting' | 'jobID'>
}

export const beginActivities = (deps: Deps) => ({
  /**
   * Writes job ID and first phase, on the version that the pass observed. After a conflict it goes on only if the job ID is ours already,
   * or the object is still idle and triggered.
   *
   * @returns the target as it is now; undefined when another run has the job or the object is gone.
   */
  async beginJob({ by, subject, jobID, target }: BeginInput): Promise<TargetView | undefined> {
    try {
      const now = deps.now().toISOString()
      const [answer] = await writeAll(deps, { ...by, step: 'beginJob', fieldManager: fieldManagerOf(by) }, [
        {
          verb: 'patchStatus',
          watched: watchedKind(subject.kind),
          namespace: subject.namespace,
          name: subject.name,
          version: target.version,
          patch: firstStatus(target, jobID, now),
          reapply: (current) => rebegin(current, subject, { jobID, before: target.jobID }, now),
        },
      ])
      if (answer?.result === 'failed') throw answer.error
      return answer?.result === 'ok' ? targetView(answer.object) : undefined
    } catch (error) {
      throw toApplicationFailure(error)
    }
  },
})

function rebegin(
  current: KubeObject,
  { kind, uid }: Subject,
  { jobID, before }: { jobID: string; before: string | undefined },
  now: string,
): Patch | 'done' | 'superseded' {
  if (current.metadata.uid !== uid) return 'superseded'
  const { jobID: found, jobIDFinished } = targetView(current)
  if (found === jobID) return 'done'
  const triggered =
    kind === 'Installation'
      ? installationTrigger(current) !== undefined
      : current.metadata.deletionTimestamp !== undefined
  // A job that came and went meanwhile may have been this one: another trigger needs another ID.
  return found === before && isIdle({ jobID: found, jobIDFinished }) && triggered
    ? firstStatus(targetView(current), jobID, now)
    : 'superseded'
}

function firstStatus(
  { generation, deleting }: Pick<TargetView, 'generation' | 'deleting'>,
  jobID: string,
  now: string,
): Patch {
  return {
    status: {
      jobID,
      phase: deleting ? 'InitDelete' : 'Init',
      phaseTransitionTime: now,
      observedGeneration: generation,
      lastError: null,
      transitionTimes: { triggerTime: now, initTime: now, waitTime: null, finishedTime: null },
    },
  }
}
