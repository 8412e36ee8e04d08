// The commands `pawl bridge`, `pawl worker`, `pawl webhook` and `pawl api`.

import type { Command } from 'commander'

import { API_FLAGS, apiSettings } from '../api/flags.ts'
import { BRIDGE_FLAGS, processSettings } from '../bridge/flags.ts'
import { reconcilerSettings, WORKER_FLAGS } from '../reconciler/settings.ts'
import { WEBHOOK_FLAGS, webhookSettings } from '../webhook/flags.ts'
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

export function webhookCommand(): Command {
  return processCommand({
    name: 'webhook',
    description: 'answer the API server whether objects may be stored',
    entry: 'webhook.ts',
    flags: WEBHOOK_FLAGS,
    check: webhookSettings,
    acts: false,
  })
}

export function apiCommand(): Command {
  return processCommand({
    name: 'api',
    description: 'answer what people ask of the journal, by their rights in Kubernetes',
    entry: 'api.ts',
    flags: API_FLAGS,
    check: apiSettings,
    acts: false,
  })
}
