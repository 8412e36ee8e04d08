// The words in which Go, text/template, sprig and Spiff report an error. A word that is missing here is hidden from users, never the reverse.

const LANGUAGE = `
a about add after all already an and any argument arguments array as at bad be block blueprint before between bool bytes call called calling
can't cannot cannot: chain character characters command comparable compare comparison contain contains convert converting could
data date decimal decode decoding deeper denominator depth did directory division does dot duplicate duration element elements
empty encode end entry eof evaluate evaluating exceed error errors exceeded executing execution exist expected expects field fields file find first float float64
for format found from func further got function has have hex if illegal in include incompatible incomplete index input int int64 uint8 integer interface
interface{} into invalid invoke invoked is it iterate iterated item items json key keys known large last least length less limit line list
literal looking lookup malformed map match maximum may mapping method minimum missing more must name named negative nested
nil no non-function non-pointer not nothing null number object of on one only operand operator or out output over parameter parse
parsing pattern pointer point position prefix range reached recursion reflect reference regexp regular relative repeat repository required
result return returned returns runtime second should single size slice slice: small source start state strconv string strings struct syntax tag
template text than that the there third time timestamp to token too true type types unable unclosed undefined unexpected unknown unmarshal
unset unsupported until untyped use used value values variable version want wanted was when which while with without wrong yaml zero
component components descriptor identity installation pair pairs references resource resources spec.componentdescriptor
another are by this utf-8 b64enc e.g kubeconfig kubeconfigs issued template target targets imported expirationseconds namespace issuerurl clientid whole yet
cd://componentreferences/name/resources/name cd://resources/name resources/name
atoi parseint parsefloat parsebool strconv.atoi strconv.parseint strconv.parsefloat strconv.parsebool base32 base64
map[string]interface map[string]any map[string]interface{} []interface []interface{} []any [] did{} yaml: json: reflect: error: semantic
`

const SPIFF = `
accepts addition address allowed alphabetic alias anchor area assignment available base body boolean builtin but catch cidr cannot
collection component concatenated condition content context control create currying cycle defined digit divisor document dynamic effective either
empty entries environment environment: equal escaped eval evaluated evaluation exactly exec execution exceeds expansion expecting expression extremely fail
failed flow foreign format fourth getting given greater handle handled have incorrect indentation indicator indices insert integers intersect
intrinsic ip join lambda larger leading list_to_map lookup marshalling max merge merging mismatch mixed mkdir mode multi multiple
multiplication near network next no node nodes nodes: non-empty numeric octet operations option optional os pair path permissions pipe
positive possible process projection quoted rand range ranges read reading refusing repetition replace reported require requires resolution
resolve rune scalar scanning sequence set setting single sort space spiff split stream stub subnet substitution substr substraction
sum supported surrogate symbol sync tag target tempfile temporary templates timeout trailing trim two unicode uniq unresolved unsigned
validate validation validator violate where whitespace write
'float'( 'string'( 'int'( 'map'( 'list'( 'bool'( 'float' 'int' 'map' 'list' 'bool' 'template'
`

/** Lower-case words. */
export const VOCABULARY: ReadonlySet<string> = new Set(`${LANGUAGE} ${SPIFF}`.split(/\s+/))
