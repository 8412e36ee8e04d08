// Documents with mistakes and their expected diagnostics, at least one document per diagnostic code. An expected diagnostic is `line:column code message`, or the
// beginning of this text.

export const HEAD = `bind v1 ./core.ts
bind demo/v1 ./cron-job.ts
alias Cron demo/v1/CronJob
alias Pod v1/Pod
alias Node v1/Node
`

// A document with one controller. Its states start in line 8, and its actions in line 10, column 12.
export const decl = (states: string, actions = 'Act()') => `${HEAD}decl X for Cron {
  state {
${states}
  }
  action { ${actions} }
}
`
// A document with one state, which is a list of pods if `many` is true. Its selectors start in line 8, column 11 (or 13 if `many` is true).
export const selector = (text: string, many = false) => decl(`pod ${many ? '[]' : ''}Pod { ${text} }`, 'Act(pod)')

// A document with one controller in the given mode. Its states start in line 7, column 11, and its actions in line 8, column 12.
const moded = (mode: string, states = '', actions = 'Act()') =>
  `${HEAD}decl X for Cron as ${mode} {\n  state { ${states} }\n  action { ${actions} }\n}\n`

export const CASES: readonly (readonly [text: string, ...problems: string[]])[] = [
  [selector('name="abc'), `8:16 CM001 the quoted string is not closed; expected '"' before the end of the line`],
  [selector('name="a\\n"'), `8:18 CM001 found '\\n'; expected '\\"' or '\\\\'`],
  [selector('name=${target.Name'), "8:16 CM002 the reference is not closed: found a blank; expected '}'"],
  [selector('name="${target.Name"'), `8:17 CM002 the reference is not closed: found '"'; expected '}'`],

  ['bind v1', '1:8 CM003 found the end of the file; expected a module, such as ./batch.ts'],
  ['bind v1\nalias Pod v1/Pod', '1:8 CM003 found the end of the line; expected a module, such as ./batch.ts'],
  ['bind v1 ./a.ts b', "1:16 CM003 found 'b'; expected the end of the line"],
  ['bind v1 ./a.ts }', "1:16 CM003 found '}'; expected the end of the line", '1:16 CM005'],
  ['alias', '1:6 CM003 found the end of the file; expected a name'],
  ['(', "1:1 CM003 found '('; expected a statement (bind, alias or decl)"],
  [`${HEAD}decl X Cron {\n  action { A() }\n}`, "6:8 CM003 found 'Cron'; expected 'for'"],
  [`${HEAD}decl X for Cron\n  action { A() }\n}`, "6:16 CM003 found the end of the line; expected '{'"],
  [`${HEAD}decl X for Cron y {\n  action { A() }\n}`, "6:17 CM003 found 'y'; expected '{'"],
  [`${HEAD}decl X for {\n  action { A() }\n}`, "6:12 CM003 found '{'; expected the name of a kind"],
  [`${HEAD}decl X for Cron as {\n  action { A() }\n}`, "6:20 CM003 found '{'; expected a mode (level or job)"],
  [
    `${HEAD}decl X for Cron as\n{\n  action { A() }\n}`,
    '6:19 CM003 found the end of the line; expected a mode (level or job)',
  ],
  [`${HEAD}decl X for Cron job {\n  action { A() }\n}`, "6:17 CM003 found 'job'; expected '{'"],
  [`${HEAD}decl X for Cron as job as level {\n  action { A() }\n}`, "6:24 CM003 found 'as'; expected '{'"],
  [decl('    pod { owned }', 'Act(pod)'), "8:9 CM003 found '{'; expected a kind, or '[]' and a kind,"],
  [decl('    pod [Pod { owned }', 'Act(pod)'), "8:10 CM003 found 'Pod'; expected ']'"],
  [decl('    Act(pod)'), "8:8 CM003 found '('; expected a kind, or '[]' and a kind,"],
  [decl('    = 3'), "8:5 CM003 found '='; expected the name of a state"],
  [selector('owned = = labels/a=b', true), '8:21 CM032'],
  [decl('', 'Act'), "10:16 CM003 found '}'; expected '(' and the states that the action needs"],
  [decl('', 'Act Bad()'), "10:16 CM003 found 'Bad'; expected '(' and the states that the action needs"],
  [decl('    pods []Pod { }', 'Act(pods Bad)'), "10:21 CM003 found 'Bad'; expected ',' or ')'"],
  [decl('    pods []Pod { }', 'Act(pods,)'), "10:21 CM003 found ')'; expected the name of a state"],

  [
    `${HEAD}decl X for Cron {\n  action {\n    A()\n`,
    "6:17 CM004 the block of 'decl X' is not closed; expected '}' before the end of the file",
    "7:10 CM004 the block of 'action' is not closed; expected '}' before the end of the file",
  ],
  [
    `${HEAD}decl X for Cron {\n  action { A() }\ndecl Y for Cron {\n  action { A() }\n}`,
    "6:17 CM004 the block of 'decl X' is not closed; expected '}' before line 8",
  ],
  [
    `${HEAD}decl X for Cron {\n  state {\n    a []Pod { owned\n    b []Pod { owned }\n  }\n  action { A(a, b) }\n}`,
    "8:13 CM004 the block of 'state a' is not closed; expected '}' before line 9",
  ],
  [
    `${HEAD}decl X for Cron {\n  state {\n    a []Pod {\n      owned\n  }\n  action { A(a) }\n}`,
    "8:13 CM004 the block of 'state a' is not closed; expected '}' before line 11",
  ],
  [
    `${HEAD}decl X for Cron {\n  state {\n    a []Pod { owned }\n\n  action { A(a) }\n}`,
    "7:9 CM004 the block of 'state' is not closed; expected '}' before line 10",
  ],
  ['}\n', "1:1 CM005 found '}', but no block is open"],
  [`${HEAD}decl X for Cron {\n  action { A() } }\n}`, "8:1 CM005 found '}', but no block is open"],

  ['bnd v1 ./a.ts', "1:1 CM006 found 'bnd'; expected bind, alias or decl; did you mean 'bind'?"],
  ['Bind v1 ./a.ts', "1:1 CM006 found 'Bind'; expected bind, alias or decl; did you mean 'bind'?"],
  ['import v1 from a', "1:1 CM006 found 'import'; expected bind, alias or decl"],
  [`${HEAD}declare X for Cron {\n  action { A() }\n}`, "6:1 CM006 found 'declare'; expected bind, alias or decl"],
  [
    `${HEAD}decl X for Cron {\n  states { }\n  action { A() }\n}`,
    "7:3 CM006 found 'states'; expected state or action; did you mean 'state'?",
  ],
  [
    `${HEAD}decl X for Cron {\n  pods []Pod {\n owned\n }\n  action { A() }\n}`,
    "7:3 CM006 found 'pods'; expected state or action",
  ],

  [
    decl('    1pod []Pod { }', 'Act(1pod)'),
    "8:5 CM010 state name '1pod' is invalid; expected a letter, then letters, digits and '_', at most 63",
  ],
  [
    decl('', `${'a'.repeat(64)}()`),
    `10:12 CM010 action name '${'a'.repeat(60)}...' is invalid; expected a letter, then letters, digits and '_', at most 63`,
  ],
  [
    decl('    target []Pod { }', 'Act(target)'),
    "8:5 CM011 state name 'target' is reserved for the target of the controller; choose another name",
  ],
  [
    decl('    Pass []Pod { }', 'Act(Pass)'),
    "8:5 CM011 state name 'Pass' is reserved for the pass, an argument of every action; choose another name",
  ],
  [
    decl('    default []Pod { }', 'Act(default)'),
    "8:5 CM011 state name 'default' is reserved by TypeScript; choose another name",
  ],
  [
    `${HEAD}alias Promise v1/Promise\ndecl X for Cron { action { A() } }`,
    "6:7 CM011 alias name 'Promise' is reserved by TypeScript; choose another name",
  ],
  [
    `${HEAD}alias Step v1/Step\ndecl X for Cron { action { A() } }`,
    "6:7 CM011 alias name 'Step' is reserved by Pawl's kit; choose another name",
  ],
  [
    `${HEAD}alias XState v1/Pod\ndecl X for Cron { action { A() } }`,
    "6:7 CM011 alias name 'XState' is used by the code of 'decl X'; choose another name",
  ],
  [
    `${HEAD}alias XObservation v1/Pod\ndecl X for Cron as job { action { A() } }`,
    "6:7 CM011 alias name 'XObservation' is used by the code of 'decl X'; choose another name",
  ],
  [
    `${HEAD}alias Pass v1/Pod\ndecl X for Cron as job { action { A() } }`,
    "6:7 CM011 alias name 'Pass' is used by the code of 'decl X'; choose another name",
  ],
  [
    decl('    pods []Pod { }\n    Pods []Pod { }', 'Act(pods, Pods)'),
    "9:5 CM012 state 'Pods' and 'pods' in line 8 both become 'pods' in generated code; rename one of them",
  ],
  [
    decl('', 'CleanUp() cleanUp()'),
    "10:22 CM012 action 'cleanUp' and 'CleanUp' in line 10 both become 'cleanUp' in generated code; rename one of them",
  ],
  [
    `${HEAD}decl X for Cron { action { A() } }\ndecl x for Cron { action { A() } }`,
    "7:6 CM012 controller 'x' and 'X' in line 6 both become 'X' in generated code; rename one of them",
  ],
  [
    `${HEAD}decl HTTPJob for Cron { action { A() } }\ndecl HttpJob for Cron { action { A() } }`,
    "7:6 CM012 controller 'HttpJob' and 'HTTPJob' in line 6 both become 'httpJob' in generated code; rename one of them",
  ],

  ['bind v1 ./a.ts\nbind v1 ./b.ts', "2:6 CM020 bind of 'v1' is repeated; the first one is in line 1"],
  [`${HEAD}alias Pod v1/Pod`, "6:7 CM020 alias 'Pod' is repeated; the first one is in line 4"],
  [
    `${HEAD}decl X for Cron { action { A() } }\ndecl X for Cron { action { A() } }`,
    "7:6 CM020 controller 'X' is repeated; the first one is in line 6",
  ],
  [
    decl('    a []Pod { }\n    a []Pod { owned }', 'Act(a)'),
    "9:5 CM020 state 'a' is repeated; the first one is in line 8",
  ],
  [decl('', 'A() A()'), "10:16 CM020 action 'A' is repeated; the first one is in line 10"],
  [decl('    a []Pod { }', 'A(a, a)'), "10:17 CM020 in A(...), state 'a' is repeated; the first one is in line 10"],
  [selector('owned owned'), "8:17 CM020 selector 'owned' is repeated; the first one is in line 8"],
  [selector('labels/a=b labels/a=c'), "8:22 CM020 selector 'labels/a' is repeated; the first one is in line 8"],
  [selector('fields/.metadata.name=b fields/metadata.name=c'), "8:35 CM020 field 'metadata.name' is selected twice"],

  ['bind v2 ./a.ts', "1:6 CM021 found 'v2'; expected v1 or group/version, such as batch/v1"],
  ['bind Batch/v1 ./a.ts', "1:6 CM021 found 'Batch/v1'; expected v1 or group/version, such as batch/v1"],
  ['bind v1 ./a.ts\nalias Pod Pod', "2:11 CM021 found 'Pod'; expected group, version and kind, such as batch/v1/Job"],
  [
    'bind v1 ./a.ts\nalias Pod v1/pod',
    "2:11 CM021 found 'v1/pod'; expected group, version and kind, such as batch/v1/Job",
  ],
  [
    'bind batch/v1 ./a.ts\nalias Job batch/v2/Job',
    "2:11 CM022 'batch/v2' is not bound to a module; add 'bind batch/v2 MODULE'; did you mean 'batch/v1'?",
  ],
  [
    'bind batch/v1 k8s.io/api/batch/v1',
    "1:15 CM023 'k8s.io/api/batch/v1' is a Go package; expected a TypeScript module, such as ./batch.ts",
  ],
  ['bind batch/v1 ./batch', "1:15 CM023 './batch' has no ending; expected a TypeScript module, such as ./batch.ts"],
  [
    `${HEAD}decl X for Crn { action { A() } }`,
    "6:12 CM024 unknown alias 'Crn'; expected 'alias Crn GROUP/VERSION/KIND'; did you mean 'Cron'?",
  ],
  [
    `${HEAD}decl X for demo/v1/CronJob { action { A() } }`,
    "6:12 CM024 unknown alias 'demo/v1/CronJob'; expected the name of an alias: 'alias CronJob demo/v1/CronJob'",
  ],
  [decl('    a []Widget { }', 'A(a)'), "8:9 CM024 unknown alias 'Widget'; expected 'alias Widget GROUP/VERSION/KIND'"],
  [
    decl('    jobs []Pod { }\n    pods []Pod { }', 'A(jobs, pods) B(job)'),
    "11:28 CM025 unknown state 'job'; expected jobs or pods; did you mean 'jobs'?",
  ],
  [
    decl('', 'A(target)'),
    "10:14 CM025 unknown state 'target'; the target is in every pass: leave it out, and use pass.target",
  ],
  [decl('', 'A(b)'), "10:14 CM025 unknown state 'b'; expected a state of the section 'state { }', which declares none"],

  [
    selector('label/a=b'),
    "8:11 CM030 unknown selector 'label/a'; expected name, namespace, labels/..., fields/..., labelsFrom, namespacesFrom, pick, owned or fresh; did you mean 'labels/'?",
  ],
  [
    selector('Owned'),
    "8:11 CM030 unknown selector 'Owned'; expected name, namespace, labels/..., fields/..., labelsFrom, namespacesFrom, pick, owned or fresh; did you mean 'owned'?",
  ],
  [
    selector('owned// remark', true),
    "8:13 CM030 unknown selector 'owned//'; expected name, namespace, labels/..., fields/..., labelsFrom, namespacesFrom, pick, owned or fresh; did you mean 'owned'?",
    "8:21 CM030 unknown selector 'remark'; expected name, namespace, labels/..., fields/..., labelsFrom, namespacesFrom, pick, owned or fresh",
  ],
  [moded('jobs'), "6:20 CM026 unknown mode 'jobs'; expected level or job; did you mean 'job'?"],
  [moded('Level'), "6:20 CM026 unknown mode 'Level'; expected level or job; did you mean 'level'?"],
  [moded('group'), "6:20 CM026 unknown mode 'group'; expected level or job"],
  [moded('batch'), "6:20 CM026 unknown mode 'batch'; expected level or job"],
  [
    moded('job', 'a []Pod { owned }', 'Act(target, a)'),
    "8:16 CM025 unknown state 'target'; the target is in every pass: leave it out, and use pass.state.target",
  ],

  [selector('name'), "8:11 CM031 'name' has no value; expected '=' and a value"],
  [selector('name='), `8:11 CM031 'name' has no value; expected a value after '=' (write "" for an empty value)`],
  [selector('labels/a'), "8:11 CM031 'labels/a' has no value; expected '=' and a value"],
  [selector('owned=true'), "8:17 CM032 'owned' takes no value but 'label'"],
  [selector('owned fresh=label'), "8:23 CM032 'fresh' takes no value"],
  [
    selector(''),
    "8:1 CM035 state 'pod' is a single object without selector; expected 'name', or labels/... that only one object has",
  ],
  [
    selector('namespace=a fresh'),
    "8:1 CM035 state 'pod' is a single object without selector; expected 'name', or labels/... that only one object has",
  ],
  [selector('name=""'), "8:16 CM036 'name' is ''; expected at least one of letters, digits, '.', '-', '_' and ':'"],
  [selector('name=a/b'), "8:16 CM036 'name' is 'a/b'; expected at least one of letters, digits, '.', '-', '_' and ':'"],
  [
    selector('owned namespace=Default'),
    "8:27 CM036 'namespace' is 'Default'; expected at least one of small letters, digits and '-', or '*' alone",
  ],
  [
    selector('labels/a=it"s'),
    `8:20 CM036 found label value 'it"s'; expected at most 63 letters, digits, '.', '-' and '_'`,
  ],
  [
    selector(`labels/a=${'a'.repeat(64)}`),
    `8:20 CM036 found label value '${'a'.repeat(60)}...'; expected at most 63 letters, digits, '.', '-' and '_'`,
  ],
  [selector('labels/=b'), "8:11 CM036 found label key ''; expected a valid key, such as app.kubernetes.io/name"],
  [
    selector('labels/a/b/c=d'),
    "8:11 CM036 found label key 'a/b/c'; expected a valid key, such as app.kubernetes.io/name",
  ],

  [
    moded('job', 'a []Pod { owned fresh }', 'Act(a)'),
    "7:27 CM037 state 'a', in mode job: found 'fresh'; mode job does not support it, use mode level",
  ],
  [
    moded('job', 'a []Pod { owned=label labels/a=b }', 'Act(a)'),
    "7:21 CM037 state 'a', in mode job: found 'owned' by label; mode job does not support it, use mode level",
  ],
  [
    moded('job', 'a []Pod { owned pick=spec.node }', 'Act(a)'),
    "7:27 CM037 state 'a', in mode job: found 'pick'; mode job does not support it, use mode level",
  ],
  [
    moded('job', 'aa []Pod { labels/a=b }', 'Act(aa)'),
    "7:11 CM037 state 'aa', in mode job: 'owned' is missing; add it, because mode job reads only objects that the target owns",
  ],
  [
    moded('job', 'a Pod { owned }', 'Act(a)'),
    "7:11 CM037 state 'a', in mode job: 'name' is missing for a single object; add it, or declare a list",
  ],
  [
    moded('job', 'a Pod { name=x namespace=y owned }', 'Act(a)'),
    "7:26 CM037 state 'a', in mode job: found 'namespace'; remove it, because owned objects are in the namespace of the target",
  ],
  [
    moded('job', 'a []Pod { owned fields/.metadata.controller=x }', 'Act(a)'),
    "7:27 CM037 state 'a', in mode job: found a field selector; expected name or labels",
  ],
  [
    moded('job', 'a []Pod { owned labels/a=${target.Name} labels/b=${target.spec.node} }', 'Act(a)'),
    "7:51 CM037 state 'a', in mode job: found a reference to target.spec.node; expected one of target.metadata.name, target.metadata.namespace, target.metadata.uid",
  ],

  [
    selector('name=${tarhet.Name}'),
    "8:16 CM040 found a reference to 'tarhet'; expected a reference to the target, such as ${target.metadata.name}; did you mean 'target'?",
  ],
  [
    selector('name=${jobs.Name}'),
    "8:16 CM040 found a reference to 'jobs'; expected a reference to the target, such as ${target.metadata.name}",
  ],
  [
    selector('name=${anything}'),
    "8:16 CM040 found a reference to 'anything'; expected a reference to the target, such as ${target.metadata.name}",
  ],
  [
    selector('name=${}'),
    "8:16 CM040 found a reference to ''; expected a reference to the target, such as ${target.metadata.name}",
  ],
  [selector('name=${target.}'), "8:16 CM041 found 'target.'; expected names of fields with '.' between them"],
  [
    selector('name=${target.metadata.labels.a/b/c}'),
    "8:16 CM041 found 'target.metadata.labels.a/b/c'; expected names of fields with '.' between them",
  ],
  [
    selector('name=${target.spec.a/b}'),
    "8:16 CM041 found 'target.spec.a/b'; expected names of fields with '.' between them",
  ],
  [selector('name=${target.UID}'), "8:16 CM041 Cron has no field 'UID'; did you mean 'metadata.uid'?"],
  [selector('name=${target.Spec.Node}'), "8:16 CM041 Cron has no field 'Spec.Node'; did you mean 'spec.node'?"],
  [selector('name=${target.spec.nod}'), "8:16 CM041 Cron has no field 'spec.nod'; did you mean 'spec.node'?"],
  [
    selector('name=${target.spec.weather}'),
    "8:16 CM041 Cron has no field 'spec.weather'; expected one of node, suspend, template",
  ],
  [
    selector('name=${target.metadata.naem}'),
    "8:16 CM041 Cron has no field 'metadata.naem'; did you mean 'metadata.name'?",
  ],
  [
    selector('name=${target}'),
    "8:16 CM042 'target' is not a string; expected a string field, such as target.metadata.name",
  ],
  [
    selector('name=${target.spec.suspend}'),
    "8:16 CM042 'target.spec.suspend' is not a string; expected a string field, such as target.metadata.name",
  ],
  [
    selector('name=${target.metadata.labels}'),
    "8:16 CM042 'target.metadata.labels' is not a string; expected a string field, such as target.metadata.name",
  ],
  [
    selector('fields/.spec.nodName=a'),
    "8:11 CM043 the API server does not support the field selector 'spec.nodName' for Pod; expected metadata.name, metadata.namespace, metadata.controller, spec.nodeName or status.phase; did you mean 'spec.nodeName'?",
  ],
  [
    selector('fields/.metadata.uid=a'),
    "8:11 CM043 the API server does not support the field selector 'metadata.uid' for Pod; expected metadata.name, metadata.namespace, metadata.controller, spec.nodeName or status.phase",
  ],
  [
    decl('    nodes []Node { namespacesFrom=spec.template }', 'A(nodes)'),
    "8:20 CM044 Node is cluster-scoped; expected no 'namespacesFrom'",
  ],
  [
    selector('namespace=a namespacesFrom=spec.template', true),
    "8:25 CM020 found 'namespacesFrom' beside 'namespace'; expected one of them",
  ],
  [
    selector('labelsFrom=${target.spec.template}'),
    "8:22 CM045 found '${target.spec.template}'; expected the path of a field, such as spec.selector",
  ],
  [
    selector('labelsFrom=target.spec.template'),
    "8:22 CM045 found 'target.spec.template'; expected a path in the target: 'spec.template'",
  ],
  [selector('labelsFrom=""'), "8:22 CM045 found ''; expected the path of a field, such as spec.selector"],
  [
    selector('labelsFrom=spec.node'),
    "8:22 CM045 'spec.node' of Cron is a string; expected a map of labels, or a selector",
  ],
  [selector('labelsFrom=spec.templat'), "8:22 CM041 Cron has no field 'spec.templat'; did you mean 'spec.template'?"],
  [selector('labelsFrom'), "8:11 CM031 'labelsFrom' has no value; expected '=' and a value"],
  [selector('pick=spec.node', false), '8:1 CM035'],
  [
    selector('pick=spec.node,spec..suspend', true),
    "8:18 CM045 found 'spec..suspend'; expected paths of fields with ',' between them, such as status.phase",
  ],
  [selector('pick=${target.Name}', true), "8:18 CM045 found '${target.Name}'; expected paths of fields"],
  [selector('pick=spec.node,spec.node', true), "8:18 CM020 field 'spec.node' is picked twice"],
  [selector('pick=spec.nod', true), "8:18 CM046 Pod has no field 'spec.nod'; did you mean 'spec.node'?"],
  [decl('    nodes []Node { namespace=a }', 'A(nodes)'), "8:20 CM044 Node is cluster-scoped; expected no 'namespace'"],

  [decl('    pods []Pod { }'), "8:5 CM050 state 'pods' is not the argument of an action; every pass still reads it"],
  [
    `bind batch/v1 ./a.ts\nalias Job batch/v1/Job\ndecl X for Job {\n  state { jobs []Job { fields/spec.color=red } }\n  action { A(jobs) }\n}`,
    "4:24 CM051 the fields of Job are unknown: the API server may not support the field selector 'spec.color'",
  ],
  [
    `bind a/v1 ./a.ts\nalias A a/v1/A\nalias Pod a/v1/A\ndecl X for A {\n  state { pod Pod { name=\${target.spec.node} } }\n  action { Act(pod) }\n}`,
    "5:26 CM053 the fields of A are unknown, so the type of 'spec.node' is not checked; expected a string",
  ],
  [`${HEAD}decl X for Cron { }`, "6:6 CM052 'X' has no action; expected at least one in 'action { }'"],
]
