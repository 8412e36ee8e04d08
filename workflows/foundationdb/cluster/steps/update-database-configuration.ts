// Step 16. Configures the database: once as a new one, later in stages that the database accepts. Source:
// seeds/foundationdb-operator-technical-design.txt UpdateDatabaseConfiguration; spec/foundationdb.md 2.16, 4.6, 4.7.
//
//   U1. `configure new` runs only while `status.configured` is not true. False is saved before the command and true after it: a pass that finds false does
//       not know whether an earlier command ran, and repeats it only after the database has reported that it has no configuration.
//   U2. An unavailable database, or one with unhealthy data distribution, does not stop the pass: a later step may repair it.

import type { DatabaseStatus } from '../../../../activities/foundationdb/database/status.ts'
import {
  configureString,
  desiredConfiguration,
  isSameConfiguration,
  liveConfiguration,
} from '../../database/configure-string.ts'
import { nextConfiguration } from '../../database/region-steps.ts'
import { availabilityProblem } from '../../database/safety.ts'
import { clusterStep } from '../cluster-step.ts'
import {
  availableDatabase,
  type ClusterContext,
  databaseAddress,
  isNew,
  normalEvent,
  noteRecovery,
  readDatabase,
  updateStatus,
} from '../context.ts'
import { takeLock, usedLock } from '../lock.ts'
import { needsGeneration } from '../reconciliation-check.ts'
import { recoveringDelay } from '../recovery-delay.ts'
import { continueWith, failWith, NO_DELAY_MS, SHORT_DELAY_MS, stopFor, type StepResult, withEvent } from '../requeue.ts'

const STAGE_DELAY_MS = 30_000
const STATE_DELAY_MS = 10_000

export const updateDatabaseConfiguration = clusterStep('UpdateDatabaseConfiguration', async (context) => {
  const { settings, status } = context
  const desired = desiredConfiguration(settings.spec.databaseConfiguration ?? {})
  if (databaseAddress(context) === undefined) return undefined
  if (status.configured !== true) {
    if (!settings.automation.configureDatabase) return reportOnly(context, configureString(desired))
    return await createDatabase(context, configureString(desired))
  }
  const database = await availableDatabase(context)
  // U2
  if (database?.configuration === undefined) return undefined
  const live = liveConfiguration(database.configuration, desired)
  if (isSameConfiguration(live, desired)) return undefined
  const next = nextConfiguration(live, desired)
  const text = configureString(next)
  if (!settings.automation.configureDatabase) return reportOnly(context, text)
  const problem = stateProblem(context, database)
  if (problem !== undefined) {
    needsGeneration(context, 'needsConfigurationChange')
    const delayMs = recoveringDelay(database, STATE_DELAY_MS)
    return withEvent('NeedsConfigurationChange', continueWith(`the configuration waits: ${problem}`, delayMs))
  }
  const blocked = await takeLock(context)
  if (blocked !== undefined) return blocked
  return await changeConfiguration(context, text, isSameConfiguration(next, desired))
})

function reportOnly(context: ClusterContext, text: string): StepResult {
  needsGeneration(context, 'needsConfigurationChange')
  const message = `spec.automationOptions.configureDatabase is false; run: configure ${text}`
  return withEvent('NeedsConfigurationChange', stopFor(message))
}

/** U1 */
async function createDatabase(context: ClusterContext, configuration: string): Promise<StepResult> {
  const address = databaseAddress(context)
  if (address === undefined) return undefined
  if (!isNew(context)) {
    const reading = await readDatabase(context)
    const isMissing = 'status' in reading && reading.status.isUnconfigured === true
    if (!isMissing) return stopFor('the database may exist already; its state is read again', STATE_DELAY_MS)
  }
  updateStatus(context, { configured: false })
  await context.pass.save()
  await normalEvent(context, 'ConfiguringDatabase', `Setting initial database configuration to ${configuration}`)
  const result = await context.calls.configure({ ...address, configuration, isNew: true })
  if ('failure' in result && result.failure.kind !== 'exists')
    return stopFor(`the database could not be created: ${result.failure.message}`, STATE_DELAY_MS)
  updateStatus(context, { configured: true })
  await context.pass.save()
  return stopFor('the database was created; its state is read again', NO_DELAY_MS)
}

async function changeConfiguration(
  context: ClusterContext,
  configuration: string,
  isLast: boolean,
): Promise<StepResult> {
  const address = databaseAddress(context)
  if (address === undefined) return undefined
  await normalEvent(context, 'ConfiguringDatabase', `Setting database configuration to ${configuration}`)
  const result = await context.calls.configure({ ...address, ...usedLock(context), configuration, isNew: false })
  if ('failure' in result) return failWith(result.failure.message)
  await noteRecovery(context)
  return isLast
    ? continueWith('the configuration was changed; it is read again', SHORT_DELAY_MS)
    : stopFor('the configuration has further stages', STAGE_DELAY_MS)
}

/** Why the configuration must not change now. */
function stateProblem({ waits }: ClusterContext, database: DatabaseStatus): string | undefined {
  const problem = availabilityProblem(database)
  if (problem !== undefined) return problem
  if (database.data.isHealthy !== true) return 'the data distribution is not healthy'
  const { secondsSince } = database.recovery
  if (secondsSince !== undefined && secondsSince < waits.configure)
    return `the last recovery was less than ${waits.configure} s ago`
  return undefined
}
