// Step 2. Creates, updates or deletes the Deployment of the agents. Source: spec/foundationdb.md 2.27.

import { backupDeployment } from '../../resources/backup-agents.ts'
import { backupStep } from '../context.ts'
import { isDeploymentCurrent } from '../needs.ts'

export const updateBackupAgents = backupStep('UpdateBackupAgents', async (context) => {
  if (isDeploymentCurrent(context)) return undefined
  const { pass, settings, deployment } = context
  const wanted = backupDeployment(settings, pass.target.metadata.uid)
  context.hasChangedAgents = true
  if (wanted !== undefined) await pass.act.apply(wanted)
  else if (deployment !== undefined) {
    await pass.act.remove(deployment)
    context.deployment = undefined
  }
  return undefined
})
