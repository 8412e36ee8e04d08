// Reports whether all Pods of an App are up to date and ready.

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
  const message = `${ready ?? 0} of ${wanted} Pods are up to date and ready`
  if (ready === undefined) return { status: 'False', reason: 'RollingOut', message }
  if (ready === wanted)
    return isPaused
      ? { status: 'False', reason: 'Paused', message: 'no Pods run until the pause ends' }
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

/**
 * The number of available Pods of the current template, minus the Pods of previous templates. Undefined until Kubernetes'
 * controller has observed the Deployment.
 */
function readyPods(deployment: Deployment | undefined): number | undefined {
  const { observedGeneration = 0, ...counts } = deployment?.status ?? {}
  if (deployment === undefined || observedGeneration < deployment.metadata.generation) return undefined
  const { updatedReplicas = 0, availableReplicas = 0, replicas = 0 } = counts
  const outdated = replicas - updatedReplicas
  return Math.min(updatedReplicas, availableReplicas) - outdated
}
