// The flags of `pawl node-agent` for pods of FoundationDB clusters.

import type { FlagTable } from '../../../workflows/kit/index.ts'

export const TOOL_FLAGS = {
  'fdb-bin': {
    reads: 'text',
    takes: '<folder>',
    default: 'a simulator of FoundationDB',
    text: "folder with FoundationDB's tools, or with one such folder for each version",
  },
} as const satisfies FlagTable

export type ToolFlags = typeof TOOL_FLAGS
