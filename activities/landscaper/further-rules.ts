// Rules of admission about what has to be unpacked or parsed first, for the webhook: bounded, and off its event loop.
//
//   F1. What takes more than it may is refused where the object alone is to blame (an archive that nobody could unpack), and else passes: a job tells.
//   F2. The Execution of an Installation has what a job has rendered: that job runs what can run and tells the rest, with or without a webhook.

import { type AsyncRules, ownerOfKind, type Problem, writeJson } from '../../workflows/kit/index.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { fieldsOf, textOf } from '../../workflows/landscaper/json-fields.ts'
import { createDataReader } from './bounded/tenant-data.ts'

// Less than any API server waits.
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
          // Nearly all list none, which need no thread.
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
