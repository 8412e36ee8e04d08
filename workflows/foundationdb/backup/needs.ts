// Compares the desired backup with the observed one. Source: spec/foundationdb.md 2.27.

import type { BackupStatus as ToolStatus } from '../../../activities/foundationdb/database/backup-tools.ts'
import type { JsonObject } from '../../kit/index.ts'
import type { BackupGeneration } from '../contract.ts'
import { LAST_SPEC_ANNOTATION } from '../contract.ts'
import type { BackupSettings } from '../model/backup-settings.ts'
import { backupDeployment } from '../resources/backup-agents.ts'
import type { BackupContext } from './context.ts'
import type { ObservedDeployment } from './pass.ts'

/** The tools manage the backup, not only its agents. */
export function isManaged({ settings }: BackupContext): boolean {
  return settings.type !== 'unmanaged'
}

/** Whether the deletion of the object ends the backup. */
export function endsOnDeletion({ type, deletionPolicy }: BackupSettings): boolean {
  return type !== 'unmanaged' && deletionPolicy !== 'noop'
}

/** Whether the backup has to run. A backup that is made once does not run again when it can be restored. */
export function shouldRun({ settings }: BackupContext, details: ToolStatus): boolean {
  return settings.state !== 'Stopped' && !(settings.mode === 'oneTime' && details.isRestorable)
}

/** Undefined: the agents are as desired. */
export function pauseChange({ settings }: BackupContext, details: ToolStatus): boolean | undefined {
  if (settings.state === 'Stopped') return undefined
  const isPaused = settings.state === 'Paused'
  return details.isPaused === isPaused ? undefined : isPaused
}

/** The period is unknown until an agent has begun the backup. */
export function needsModification({ settings }: BackupContext, details: ToolStatus): boolean {
  if (!details.isRunning || settings.mode !== 'continuous') return false
  const { snapshotPeriodSeconds = settings.snapshotPeriodSeconds, url = settings.url } = details
  return snapshotPeriodSeconds !== settings.snapshotPeriodSeconds || url !== settings.url
}

/** Whether the Deployment exists as desired: labels and annotations that the spec does not name may have other values. */
export function isDeploymentCurrent({ settings, pass, deployment }: BackupContext): boolean {
  const wanted = backupDeployment(settings, pass.target.metadata.uid)
  if (wanted === undefined || deployment === undefined) return wanted === deployment
  const { labels = {}, annotations = {} } = wanted.metadata
  return (
    annotations[LAST_SPEC_ANNOTATION] === deployment.metadata.annotations?.[LAST_SPEC_ANNOTATION] &&
    hasTexts(deployment.metadata.labels, labels) &&
    hasTexts(deployment.metadata.annotations, annotations)
  )
}

function hasTexts(found: JsonObject['metadata']['labels'], wanted: Readonly<Record<string, string | null>>): boolean {
  return Object.entries(wanted).every(([key, value]) => found?.[key] === value)
}

/** Whether the Deployment's controller has observed it as desired. */
export function isDeploymentConfigured(context: BackupContext): boolean {
  const { deployment } = context
  if (!isDeploymentCurrent(context)) return false
  return deployment === undefined || deployment.status?.observedGeneration === deployment.metadata['generation']
}

export function agentCount(deployment: ObservedDeployment | undefined): number {
  const { readyReplicas = 0, updatedReplicas = 0 } = deployment?.status ?? {}
  return Math.min(readyReplicas, updatedReplicas)
}

/** The fields of `status.generations` for which the backup waits. */
export function needsOf(context: BackupContext): readonly BackupGeneration[] {
  const { details, settings, deployment } = context
  const hasAgents = isDeploymentConfigured(context) && agentCount(deployment) >= settings.agentCount
  const needs: [BackupGeneration, boolean][] = [['needsBackupAgentUpdate', !hasAgents]]
  if (isManaged(context)) {
    const isWanted = details === undefined ? settings.state !== 'Stopped' : shouldRun(context, details)
    needs.push(
      ['needsBackupStart', isWanted && details?.isRunning !== true],
      ['needsBackupStop', !isWanted && details?.isRunning === true],
      ['needsBackupPauseToggle', details !== undefined && pauseChange(context, details) !== undefined],
      ['needsBackupModification', details !== undefined && needsModification(context, details)],
    )
  }
  return needs.flatMap(([name, isNeeded]) => (isNeeded ? [name] : []))
}
