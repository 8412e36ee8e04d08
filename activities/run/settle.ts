// Settle: what a pass leaves behind. One conditional status write, the row of its run, the next due time.
// Source: docs/architecture.md "Writes, fields, errors".

import type { SettleActivities, SettleInput } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import { retryableFailure, toApplicationFailure } from '../kube/errors.ts'
import { endRun } from './end-run.ts'
import { recordPass } from './record-pass.ts'
import { settledAsIs, writeStatus } from './write-status.ts'

export const statusActivities = (deps: Deps): SettleActivities => ({
  /**
   * Writes the pass's status change, if any, and the subject's next due time, if wanted. A run that `lingers` then waits here for a moment.
   *
   * @returns the target as it is now; `superseded` when the job is another run's; `overtaken` when the job would end over an edit that the
   *   pass has not seen: then nothing was written.
   * @throws retryable failures of the API server and the journal; `Invalid` (final) when the server refuses the status.
   */
  async settle(input) {
    try {
      const result = input.change === undefined ? settledAsIs : await writeStatus(deps, input, input.change)
      if (result.result !== 'settled') return result
      if (input.change !== undefined || input.againMs !== undefined) await recordSettled(deps, input)
      return input.lingers ? { ...result, woken: await deps.lingering.wait(input.workflowID) } : result
    } catch (error) {
      // Never final: a pass that cannot settle has nowhere to say so. The server's refusal stands in the log and in the journal's action.
      const failure = toApplicationFailure(error)
      throw failure.nonRetryable === true ? retryableFailure(failure.type ?? 'Unknown', failure.message) : failure
    }
  },

  /** Closes the run's row in the journal; a row that a final write closed already stays as it is. */
  async endRun({ outcome, ...run }) {
    await endRun(deps, run, outcome)
  },
})

async function recordSettled(deps: Deps, input: SettleInput): Promise<void> {
  const row = await recordPass(deps, input)
  // The event of the last write closes the row as a rule. Not when the bridge told it first, as anybody's, because this process was away.
  if (input.change?.finished === true && row === 'open') await endRun(deps, input, input.change.phase)
}
