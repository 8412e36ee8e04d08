// Tells whether all Pods of an App are there, as wanted, and ready.

import { type ConditionChange, done, type Outcome, setPassCondition } from 'pawl/kit'
import type { Deployment } from 'pawl/kit/apps/v1'

import type { AppPass } from './app.gen.ts'

export function reportReadiness(pass: AppPass, deployment: Deployment | undefined): Promise<Outcome> {
  const { status } = pass
  status['readyReplicas'] = deployment?.status?.readyReplicas ?? 0
  setPassCondition(pass, { type: 'Ready', ...readinessOf(deployment, status['paused'] === true) })
  return Promise.resolve(done)
}

function readinessOf(deployment: Deployment | undefined, isPaused: boolean): Omit<ConditionChange, 'type'> {
  const wanted = deployment?.spec?.replicas ?? 0
  const ready = readyPods(deployment)
  const message = `${ready ?? 0} of ${wanted} Pods are as wanted and ready`
  if (ready === undefined) return { status: 'False', reason: 'RollingOut', message }
  if (ready === wanted)
    return isPaused
      ? { status: 'False', reason: 'Paused', message: 'no Pod runs until the pause ends' }
      : { status: 'True', reason: 'RolledOut', message }
  const stuck = whyStuck(deployment)
  return stuck === undefined
    ? { status: 'False', reason: 'RollingOut', message }
    : { status: 'False', reason: 'Stuck', message: stuck }
}

function whyStuck(deployment: Deployment | undefined): string | undefined {
  const progress = deployment?.status?.conditions?.find(({ type }) => type === 'Progressing')
  return progress?.status === 'False' ? (progress.message ?? 'the Deployment makes no progress') : undefined
}

/** Pods that are as the Deployment says now; undefined while its own controller has not seen it. Former ones count against it. */
function readyPods(deployment: Deployment | undefined): number | undefined {
  const { observedGeneration = 0, ...counts } = deployment?.status ?? {}
  if (deployment === undefined || observedGeneration < deployment.metadata.generation) return undefined
  const { updatedReplicas = 0, availableReplicas = 0, replicas = 0 } = counts
  const former = replicas - updatedReplicas
  return Math.min(updatedReplicas, availableReplicas) - former
}
