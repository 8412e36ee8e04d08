// Admission rules that need decompressed or parsed data, for the webhook. They run with limits, outside of the event loop.
//
//   F1. Data that exceeds a limit is refused if the object alone is to blame (an archive that cannot be decompressed); otherwise it is accepted, and
//       the job reports it.
//   F2. The Execution of an Installation is rendered by a job, which runs valid items and reports the others, with or without webhook.

import { type AsyncRules, ownerOfKind, type Problem, writeJson } from '../../workflows/kit/index.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { fieldsOf, textOf } from '../../workflows/landscaper/json-fields.ts'
import { createDataReader } from './bounded/tenant-data.ts'

// Shorter than the time-out of any API server.
const TIMEOUT_MS = 3000

export function openAsyncRules(): AsyncRules {
  const reader = createDataReader({ timeoutMs: TIMEOUT_MS })
  return {
    async validate({ kind, namespace, object, signal }): Promise<readonly Problem[]> {
      const spec = fieldsOf(fieldsOf(object)['spec'])
      const data = reader.of({ namespace, signal })
      switch (kind.kind) {
        case executionKind.kind: {
          const packed = textOf(spec['deployItemsCompressed'])
          if (ownerOfKind(object, installationKind) !== undefined) return []
          return packed === '' ? [] : await data.packedProblems(packed)
        }
        case installationKind.kind: {
          const blueprint = spec['blueprint']
          // Nearly all blueprints list no sub-installations, and need no thread.
          return mayListSome(blueprint) ? await data.blueprintProblems(blueprint) : []
        }
        default:
          return []
      }
    },
    close: () => reader.close(),
  }
}

function mayListSome(blueprint: unknown): boolean {
  return writeJson(fieldsOf(blueprint)['inline'] ?? '').includes('subinstallations')
}
