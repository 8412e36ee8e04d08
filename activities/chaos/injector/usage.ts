// What `pawl injector --help` says.

import { KINDS } from '../../../workflows/chaos/injector/invocation.ts'

export const USAGE = `Usage: pawl injector KIND --level pod --target-containers NAME;ID [flags]
       pawl injector sweep [--state DIR] [--network-of PID]
       pawl injector capabilities

Injects a disruption, waits for SIGINT, SIGTERM or --deadline, and cleans up. KIND is one of
  ${KINDS.join(', ')}.

sweep          undo what killed injectors have left, by their notes and by Pawl's marks;
               with --network-of marks are looked for in the network of that process only
capabilities   try what this kernel can do

An ID is containerd://..., docker://..., cri-o://... or process://PID.
The variables that it reads are listed in docs/operating.md.
`
