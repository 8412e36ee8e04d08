// A worker of Temporal that tells when a run cannot be replayed by its code. The SDK has no other way to hear of it in the process where it happens:
// the server is told of the first try only, and of others nothing but that they took too long.

import proto from '@temporalio/proto'
import { Worker, type WorkerOptions } from '@temporalio/worker'

const { EvictionReason } = proto.coresdk.workflow_activation.RemoveFromCache

/** Told of the run, and of what Temporal says of it. Must not throw. */
export type Misfits = (runID: string, message: string) => void

interface Eviction {
  readonly runId: string
  readonly evictJob: { readonly reason?: number | null; readonly message?: string | null }
}

/** Told of a run that had to make room for others in memory. Must not throw. */
export type Evicted = (runID: string) => void

class TellingWorker extends Worker {
  listen(misfits: Misfits, evicted: Evicted): this {
    // Of the SDK, which finds out by it how a replay ended. A test on a real server sees whether it is still so.
    this.evictionsEmitter.on('eviction', ({ runId, evictJob: { reason, message } }: Eviction) => {
      if (reason === EvictionReason.NONDETERMINISM) misfits(runId, message ?? '')
      if (reason === EvictionReason.CACHE_FULL) evicted(runId)
    })
    return this
  }
}

/** As `Worker.create`. */
export async function createTellingWorker(
  options: WorkerOptions,
  misfits: Misfits,
  evicted: Evicted = () => undefined,
): Promise<Worker> {
  const worker = await TellingWorker.create(options)
  if (!(worker instanceof TellingWorker))
    throw new Error('the SDK made a Worker; expected one of the class that was asked')
  return worker.listen(misfits, evicted)
}
