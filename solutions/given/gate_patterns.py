"""The vocabulary of the write gate: what its rules look for, one way of saying it a line.

All patterns but NAMED_CUSTOMER are for folded text (`write_gate.fold`): lower case, no accents, ASCII digits.
Each one is bounded, so that hostile text costs no more than any other.
"""

from __future__ import annotations

import re


def either(*alternatives: str) -> re.Pattern[str]:
    """A pattern that matches any of `alternatives`.

    Example:
    >>> either("rye", r"oats?").findall("rye, oat, oats")
    ['rye', 'oat', 'oats']
    """
    return re.compile("|".join(alternatives))


# --- secrets and payment details ----------------------------------------------------------------------

CARD_BRAND = either(
    r"4\d{15}(?:\d{3})?",  # Visa
    r"5[0-5]\d{14}",  # Mastercard, RuPay
    r"2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}",  # Mastercard
    r"3[47]\d{13}",  # American Express
    r"3(?:0[0-5]|[689]\d)\d{11}",  # Diners Club
    r"35(?:2[89]|[3-8]\d)\d{12}",  # JCB
    r"6\d{15}|8[12]\d{14}",  # Discover, UnionPay, RuPay
)
"""First digits and length of a payment card's number; whether its check digit fits is another question."""

BETWEEN_GROUPS = re.compile(r"[\W_]{0,4}|[\W_]?(?:[a-z]|and|then|dash)[\W_]?")
"""What may stand between two groups of one number."""

IBAN_LENGTHS = {
    country: int(length)
    for country, length in re.findall(
        r"([a-z]{2})(\d\d)",
        "ad24 ae23 al28 at20 az28 ba20 be16 bg22 bh22 br29 by28 ch21 cr22 cy28 cz24 de22 dk18 do28 ee20 eg29 "
        "es24 fi18 fo18 fr27 gb22 ge22 gi23 gl18 gr27 gt28 hr21 hu28 ie22 il23 iq23 is26 it27 jo30 kw30 kz20 "
        "lb28 li21 lt20 lu20 lv21 mc27 md24 me22 mk19 mr27 mt31 mu30 nl18 no15 pk24 pl28 ps29 pt25 qa29 ro24 "
        "rs22 sa24 se24 si19 sk24 sm27 tn24 tr26 ua29 va22 xk20",
    )
}
"""How long an international bank account number is, by its country."""

# Between a word such as "otp" and its digits, glued or not.
_LINK = (
    r"(?:[\W_]|is|was|are|number|no(?!w)|nr|code|ending|ends|in|with|the|of|for|my|your|her|his|last|four|"
    r"three|digits?|now|by|on|sms|from|text|message|that|came|they|sent|texted|me|card|file){0,24}?"
)
_MY = r"(?:my|the|your|her|his|their|our|a)"
# In India a PIN code of six digits is part of an address.
_POSTAL = r"pin\W{0,2}(?:code)?(?:\W|is|was|number|no){0,8}[1-8]\d\d\W?\d{3}(?!\d)"
_PIN = (
    r"(?:(?:upi|atm|card|debit|credit|sim|phone|bank|secret|\b[mt])\W{0,3}pin|my\W{0,3}pin(?!\W{0,2}code)"
    rf"|(?<![so])(?!{_POSTAL})pin)"
)
_CODE = (
    r"(?:otp|one\W?time\W?(?:password|passcode|code|pin)|cv[vc]2?|pass\W?code|2fa|ओटीपी|"
    r"(?:verification|security|log\W?in|auth\w*)\W{0,2}(?:code|number)|(?:safe|lock)\W{0,2}combination|"
    rf"(?:sms|access|door|gate|entry|alarm|lock|safe)\W{{0,2}}code|{_PIN})"
)
_NEVER_HARMLESS = r"(?:\botps?\b|\bcv[vc]2?\b|one\W?time\W?(?:password|passcode|code|pin)|digits on the back)"
_OTHER_CODES = "".join(
    rf"(?<!{kind} )" for kind in ("pin", "zip", "post", "dress", "area", "bar", "qr", "colour", "country")
)
_ACCOUNT = r"(?:account|acct|a/c|konto(?:nummer)?|खाता(?: सखया)?)"
_ANY_CARD = (
    r"(?:visa|master\W?card|amex|american express|rupay|maestro|"
    r"(?<!birthday )(?<!greeting )(?<!loyalty )(?<!library )(?<!business )card)"
)
_BANK_CARD = r"(?:visa|master\W?card|amex|rupay|(?:credit|debit|atm) card)\b"
_FOUR = r"(?<!\d)(?!19|20)\d{4}(?!\d)"  # no year
_PASSWORD = (
    r"(?:p[a4@][s5$]{2}\W?w[o0]rd|pass\W?(?:phrase|code|key|wort|wd)|pwd|\bpw\b|\bpass(?=\s*[:=]|\sis\s)|kennwort"
    r"|contrasena|mot de passe|senha|पासवरड|पासवड|пapoль|密码)"
)

SECRET_BY_NAME = either(
    # one-time codes, pins, codes of doors
    rf"{_CODE}{_LINK}[a-z]?\d(?:\W?\d){{2}}",
    rf"{_NEVER_HARMLESS}.{{0,40}}?\d(?:[ -]?\d){{2}}",
    r"(?<!\d)\d(?:\W?\d){2,9}\W{0,3}(?:(?:is|was|as|=)\W{0,3})?" + rf"(?:{_MY}\W)?(?:\w+\W)?"
    r"(?:otp|one\W?time|cv[vc]|pass\W?code|pin(?=\W*$|[.,;!])|card\b|code (?:that|from|by|in|i|sent))",
    rf"(?<!\d)\d(?:\W?\d){{3,9}} (?:is|was|as) {_MY} (?:\w+ )?(?:verification|security|log\W?in) code",
    rf"(?<!\d)\d(?:\W?\d){{3,9}} as {_MY} code",
    r"\b(?:mobile\W?|sms\W?|[ip]\W?)?tan(?:\W|is|was|code|number|no){1,8}\d(?:\W?\d){5}(?!\d)",
    rf"\b{_MY} code\W+(?:is|was)\W+\d(?:\W?\d){{3}}",
    rf"\bcode\b{_LINK}(?:sms|text|message){_LINK}\d(?:\W?\d){{3}}",
    rf"{_OTHER_CODES}\bcode(?:\W|is|was){{0,6}}\d(?:[ -]?\d){{3,7}}(?!\w)",
    r"\bcombination(?:\W|is|was){1,6}\d+(?:\W\d+)+",
    # cards and accounts
    rf"(?:{_ANY_CARD}|account (?=end))(?:[\W_x]|(?:ending|ends?)(?:\W+(?:in|with|on))?|number|no\b|nr|is|was|"
    r"last|four|digits|the){0,24}\d{4}",
    rf"{_BANK_CARD}.{{0,24}}?{_FOUR}",
    rf"{_FOUR}[^\d.]{{1,24}}{_BANK_CARD}",
    rf"(?:{_ACCOUNT}|(?:sort|ifsc)\W?(?:code)?|routing){_LINK}(?:[a-z]{{4}})?\d(?:\W?\d){{5}}",
    r"[\w.-]{2,64}@(?:ok\w+|ybl|paytm|upi|ibl|axl|apl|icici|hdfcbank|sbi)\b(?!\.\w)",
    # papers
    rf"(?:aadhaa?r|\bssn|social security|passport){_LINK}[a-z]?\d(?:\W?\d){{5}}",
    r"\bpan\b(?:\W|card|number|no|is){0,8}[a-z]{5}\d{4}[a-z]",
    # passwords and keys
    rf"{_PASSWORD}\w{{0,2}}[\"']?\s*(?:is|was|are|hai|ह|es|est|是|=|:|->)\s*\S",
    rf"{_PASSWORD} (?:of|for|to|on)(?: \w+){{1,3}} (?:is|was)\s+\S",
    rf"{_PASSWORD}\W{{0,3}}(?=\S{{0,40}}\d)\S{{4,}}",
    rf"\S\W{{1,20}}(?:is|as)\W{{1,20}}{_MY}\W{{1,20}}(?:\w+\W{{1,20}}){{0,2}}?{_PASSWORD}",
    r"\blog\W?in\W+\S{1,64} ?[/|] ?\S",
    r"\bauthori[sz]ation ?: ?\S",
    r"(?:(?:api|access|secret|auth|private)[\W_]{0,2}(?:key|token)|\btoken|\bsecret)\W{1,4}(?:is\W+)?"
    r"(?=\S{0,80}\d)\S{8,}",
    r"(?:client|consumer|app)[\W_]?secret\W{1,4}(?:is\W+)?(?=\S{0,80}\d)\S{6,}",
    r"\b(?:seed|recovery|mnemonic) (?:phrase|code|key)",
)
"""What a word nearby makes a secret."""

TOKEN = either(
    r"(?<![a-z])[srp]k[-_](?=[\w-]{0,80}\d)[\w-]{6,}",  # OpenAI, Anthropic, Stripe
    r"gh[pousr]_\w{16,}|github_pat_\w{10,}|glpat-[\w-]{10,}",  # GitHub, GitLab
    r"a[ks]ia(?=[a-z]{0,16}\d)[0-9a-z]{16}|\bakia(?:[ -]?[0-9a-z]){16}",  # AWS
    r"aiza[\w-]{30,}|\bya29\.|gocspx-[\w-]{16,}",  # Google
    r"(?:xox[abeprs]|xapp)-[\w-]{8,}",  # Slack
    r"rzp_(?:live|test)_\w{8,}|whsec_\w{10,}|\bhf_\w{20,}|npm_\w{20,}",
    r"\bsg\.[\w-]{16,}\.[\w-]{16,}|\bpypi-[\w-]{16,}|\bhvs\.\w{16,}",  # SendGrid, PyPI, Vault
    r"accountkey=\S{16,}|\b(?:shp(?:at|ss|ca)|dop_v1|dckr_pat)_[\w-]{16,}",  # Azure, Shopify, Docker and more
    r"eyj[\w-]{8,}\.[\w-]{4,}|bearer\s+[\w.~+/-]{12,}",  # JSON web tokens
    r"-----begin [a-z ]{0,40}private key",
    r"://[^\s/:@]{1,64}:[^\s/@]{1,64}@",  # a login in an address
)
"""What its shape alone makes a secret."""

# --- what is not a customer's to say ------------------------------------------------------------------

OWED = either(
    r"\bfree\b|discount|refund|voucher|coupon|cash\W?back|complimentary|\bgratis|on the house|money back",
    r"\bmuft\b|मफत",
    r"\b(?:no|without|zero|free of) (?:extra |any |delivery )?(?:charge|cost)|\b(?:no|without) delivery fee",
    r"\bpays? (?:me|us|h(?:er|im)|them|the (?:customer|user)) back\b",
    r"half\W?(?:the )?price|\bhalf off|for the price of|buy one",
    r"(?:%|percent|per cent|\d) ?(?:off|less|cheaper|reduction|rebate)",
    r"\b(?:rebate|reduction|entitled to|owed|promise[sd])\b",
    r"\bowes? (?:me|us|h(?:er|im) (?:an?|the)|(?:the|this) (?:customer|user))",
    r"store credit|credit (?:note|of|with us)|compensat|\bwaive|guarantee",
    r"\b(?:costs?|pays?)(?: \w+)? nothing|\b(?:never|not|n't) (?:\w+ )?(?:to )?pays?\b",
    r"covers? the (?:bill|cost)|\bour (?:cost|expense)\b",
)
"""Words about what the business would give away, or owe."""

FREE_OF = either(
    r"[a-z]{1,30}-free\b|\b(?:sugar|gluten|nut|egg|dairy|lactose|alcohol|onion|fat|toll|care|smoke) ?free\b",
    r"\bfree\W?(?:range|lanc\w*|hand|style|form)|\bfeel free|\bfree (?:of|from) (?!charge|cost)",
    r"^is free (?:after|before|until|till|between|at \d|on (?:\w+days?|weekends?)\b)",
    r"\bfree (?:time|slot|day|morning|afternoon|evening|weekend|hour)s?\b",
    r"(?:customer|user|\bs?he|\bwe|\bi|they|who)(?:'s|'m|'re| is| am| are) (?:\w+ )?free\b(?! of)",
)
"""Where "free" has nothing to do with payment."""

OTHERS = either(
    r"\bu_[a-z]",
    r"\b(?:another|other|different|previous|all(?: the| our| your)?(?: other)?|every|each) "
    r"(?:customer|user|client|account)s?\b(?! of (?:her|his|their|my))",
    r"\b(?:customer|user|client) (?:with )?(?:named|called|id|#)|\bevery(?:body|one) who",
    r"\bapp\W?(?:scope|wide)\b|\bglobal(?:ly)? (?:memory|scope|for)",
    r"^(?:everyone|everybody|all|others?)$",
)
"""Other customers, or all of them, in a legible text."""

NAMED_CUSTOMER = re.compile(r"\b(?:[Cc]ustomer|[Uu]ser|[Cc]lient) [A-Z][a-z]+")
"""A customer with a name: its capital tells, so this one wants the text before case is folded."""

SYSTEM_KEY = re.compile(
    r'"(?:user_?id|app(?:_?name)?|scope|session_?id|owner|tenant|source(?:_?type)?|trust|confidence|pinned|'
    r'verified)"\s*:'
)
"""In metadata as legible JSON, a key that only the system may set."""

STAFF_AGREED = either(
    r"\b(?:crumb|bakery|shop|management|manager|owner|staff|assistant|cashier)\b\W+(?:\w+\W+){0,2}?"
    r"(?:agree[sd]?|lets?|allow(?:s|ed)?|approve[sd]?|authori[sz]e[sd]?|permit(?:s|ted)?|gives?|gave|"
    r"grant(?:s|ed)?|told|trusts?|knows?|offer(?:s|ed)?|said (?:yes|ok|that|the customer|i|it))\b"
)
"""What our own people are said to have agreed to."""

INSTRUCTIONS = either(
    r"\b(?:ignore|disregard|forget|override|bypass|not follow)\b.{0,40}"
    r"\b(?:rules?|instructions?|prompts?|polic(?:y|ies)|guidelines|restrictions)\b",
    r"\b(?:ignore|forget) (?:everything|anything|all) (?:above|before|you|else)",
    r"\b(?:new (?:rule|instruction|polic)\w* ?:|your new (?:task|role|goal)\b)",
    r"\b(?:system|developer) (?:prompt|message|instruction)|\bjailbreak",
    r"\b(?:developer|admin(?:istrator)?) mode|\badmin rights\b",
    r"\byou are now\b|\bobey\b|\bpretend (?:to be|you)|\bfrom now on,? (?:answer|respond|reply|act|you)",
    r"\b(?:answer|respond|reply) only (?:with|as)\b",
    r"\balways (?:answer|respond|reply) (?:with|as|that)\b",
    r"\bwhen asked\b.{0,20}\b(?:answer|respond|reply|say)\b",
    r"\bact as (?:an? |the )?(?:\w+(?:'s)? ){0,2}(?:admin(?:istrator)?|manager|owner|staff|developer)\b",
    r"\bi(?: am|'m) (?:the )?(?:manager|owner|ceo) (?:of|at) (?:crumb|this|your)\b",
    r"\b(?:always|automatically|just|simply) (?:approve|authori[sz]e|grant|accept)",
    r"\b(?:skip|bypass|disable|turn off)\W+(?:the |all |any )?(?:\w+ )?"
    r"(?:verification|security|authentication|checks?|approval)\b",
    r"\b(?:treat|consider|mark|recogni[sz]e)\b.{0,30}"
    r"\bas (?:an? |the )?(?:admin|staff|owner|manager|verified|trusted|paid)",
    r"\bis (?:an? |the )?(?:admin\b|superuser|verified staff|administrator (?:of|for) (?:the|your|crumb))",
    # giving away what is others'
    r"\b(?:list|show|reveal|dump|print|export|leak|give|tell|send|share|read)\b.{0,30}"
    r"\b(?:all|every|other|another|everyone'?s?)\b.{0,20}\b(?:customer|user|client|memories|record|password)",
    r"\b(?:export|dump|leak|delete|drop) (?:the |your |our )?(?:\w+ )?database\b",
    r"\bother people'?s (?:address|order|phone|data)",
    # posing as another speaker, or closing the memory block
    r"<\s*/?\s*(?:memor|system|instruction|assistant|tool)|<\||\[/?inst\]|#{2,} ?(?:system|instruction)",
    r"(?:^|[.!?>] ?)(?:system|assistant|developer) ?:|\bhuman ?:.{0,80}\bassistant ?:",
)
"""What tells the assistant what to do, or poses as somebody who may."""

# --- private matters and trivia -----------------------------------------------------------------------

PRIVATE_MATTERS = either(
    r"\b(?:pre-?)?diabet(?:es|ic)|\bcancer\b(?! (?:ward|research|charity|fund|walk))",
    r"\b(?:hiv|ivf|asthma|epilep\w*|hypertension|bipolar|schizophren\w*|dementia|alzheimer\w*|parkinson\w*)\b",
    r"\b(?:autis(?:m|tic)|adhd|ptsd|pcos|arthritis|hepatitis|tumou?r|miscarriage|insulin|antidepressant\w*)\b",
    r"\b(?:dialysis|chemo\w*|bulimi\w*|anorexi\w*|crohn\w*|coeliac|celiac|pregnan\w*|diagnos(?:ed|is))\b",
    r"\b(?:has|suffers? from|with|fighting) (?:\w+ )?(?:depression|anxiety)\b|\bdepressed\b|\balcoholic in\b",
    r"\b(?:high|low) (?:blood pressure|cholesterol)|\bblood pressure is\b|\bafter (?:an? |her |his )stroke\b",
    r"\b(?:heart|kidney|liver|thyroid) (?:disease|condition|attack|failure|problem)",
    r"\brecovering from (?:\w+ ){0,2}(?:surgery|operation)|\bmetformin\b|\bgoing through (?:a )?divorce",
    r"\b(?:is|am|are|'m|being|devout|practi[sc]ing) (?:an? )?(?:gay|lesbian|bisexual|transgender|muslim|"
    r"hindu|christian|jewish|sikh|jain|buddhist|catholic|atheist)s?\b(?! (?:food|wedding|meal))",
    r"\bpracti[sc]es (?:islam|hinduism|christianity|judaism)|\bvotes? for\b",
    r"\b(?:salary|income|bankrupt\w*|mortgage|overdraft)\b|\bearns? (?:rs|inr|\W|\d)",
    r"\b(?:has|took|in) (?:an? |big |large |some )?(?:loan|debt)s?\b",
)
"""Health beyond allergies, faith, love, votes and money: reasons that are not ours to keep."""

NEED = either(
    r"\b(?:wants?|needs?|prefers?|avoids?|eats?|cannot|can't|only|no|without|low|free)\b",
    r"\b(?:halal|kosher|vegan|vegetarian)\b",
)
"""How a need is said."""

CLAUSES = re.compile(
    r"[,;.()]|\b(?:so(?: that)?|because(?: of)?|since|due to|as)\b"
    r"|\band (?=(?:wants?|needs?|prefers?|avoids?|eats?|cannot|can't|must)\b)",
    re.IGNORECASE,
)
"""Where a sentence about a need and its reason comes apart."""

_PLEASANTRY = (
    r"(?:hi|hello|hey|thanks?(?: you)?(?: so much| a lot)?|good ?(?:morning|afternoon|evening|night|day)|"
    r"(?:good)?bye|ok(?:ay)?|cheers|see you|welcome|please|yes|no|sure|great|nice)"
)
_WHO = r"(?:the )?(?:customer|user|client|s?he) "
PLEASANTRIES = either(
    rf"^\W*(?:(?:{_WHO})?(?:said|says|wished(?: us)?|typed|sent|wrote) )?"
    rf"{_PLEASANTRY}(?:\W+{_PLEASANTRY})*\W*$",
    rf"^\W*{_WHO}(?:thanked|greeted|asked (?:about|when|whether|if|what|how|where))\b",
    r"^\W*(?:thanked|greeted) (?:us|(?:the|our) \w+)\W*$",
)
"""Small talk, told or quoted."""
