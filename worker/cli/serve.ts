// The commands `pawl bridge` and `pawl worker`.

import type { Command } from 'commander'

import { BRIDGE_FLAGS, processSettings } from '../bridge/flags.ts'
import { reconcilerSettings, WORKER_FLAGS } from '../reconciler/settings.ts'
import { processCommand } from './process.ts'

export function bridgeCommand(): Command {
  return processCommand({
    name: 'bridge',
    description: 'watch Kubernetes and append every event to the journal',
    entry: 'bridge.ts',
    flags: BRIDGE_FLAGS,
    check: processSettings,
    acts: false,
  })
}

export function workerCommand(): Command {
  return processCommand({
    name: 'worker',
    description: 'dispatch wakes and run workflows and activities',
    entry: 'reconciler.ts',
    flags: WORKER_FLAGS,
    check: reconcilerSettings,
    acts: true,
  })
}
