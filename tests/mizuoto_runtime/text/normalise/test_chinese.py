import pytest
from mizuoto.mizuoto_runtime.text.normalise import normalise
from mizuoto.mizuoto_runtime.text.normalise.chinese_readings import cardinal

READINGS = {
    "counting": {
        "1次": "一次", "2个": "两个", "12个": "十二个", "第2个": "第二个", "2年级": "二年级", "周2下午": "周二下午",
        "2人": "两人", "100元": "一百元", "-3": "负三", "1,234.56": "一千二百三十四点五六", "3.14": "三点一四",
        "3-5天": "三到五天", "3~5个": "三到五个", "1.5万元": "一点五万元", "1e5": "一乘以十的五次方",
    },
    "dates": {
        "2024/10/01": "二零二四年十月一日", "2024年10月1日": "二零二四年十月一日", "2月2日": "二月二日",
        "2024-2025年": "二零二四到二零二五年", "90年代": "九十年代", "20年": "二十年",
    },
    "times": {
        "3:00": "三点", "3:30": "三点半", "2:05": "两点零五分", "15:45:09": "十五点四十五分零九秒",
        "9:00-17:00": "九点到十七点", "3:05pm": "下午三点零五分", "比分3:2": "比分三比二",
    },
    "percent, fractions, units": {
        "50%": "百分之五十", "-5%": "负百分之五", "10%~20%": "百分之十到百分之二十", "1/2": "二分之一",
        "-5℃": "零下五摄氏度", "25°C": "二十五摄氏度", "温度是-5度": "温度是负五度", "5kg": "五千克",
        "2kg": "两千克", "10 km/h": "每小时十千米",
    },
    "money": {
        "¥100": "一百元", "¥3.5": "三点五元", "¥3万": "三万元", "$50": "五十美元",
        "€2": "两欧元", "¥100元": "一百元",
    },
    "telephone numbers": {
        "13812345678": "幺三八幺二三四五六七八", "010-12345678": "零幺零幺二三四五六七八",
        "400-123-4567": "四零零幺二三四五六七",
    },
    "other scripts": {
        "GPT-4": "GPT four", "IPv6": "IPv six", "wan22": "wan twenty two", "iPhone 15 Pro": "iPhone fifteen Pro",
        "A+B=C很简单": "A plus B equals C很简单", "5G网络": "五G网络", "看https://example.com吧": "看example 点 com吧",
    },
}  # fmt: skip
ROWS = [(text, words) for rows in READINGS.values() for text, words in rows.items()]


@pytest.mark.parametrize(("text", "words"), ROWS)
def test_readings(text, words):  # P43
    assert normalise(text, "zh") == words
    assert normalise(words, "zh") == words


@pytest.mark.parametrize(
    ("digits", "words"),
    [
        *[("0", "零"), ("10", "十"), ("11", "十一"), ("20", "二十"), ("101", "一百零一"), ("110", "一百一十")],
        *[("1001", "一千零一"), ("1010", "一千零一十"), ("2200", "两千二百"), ("10005", "一万零五"), ("20000", "两万")],
        *[("100500", "十万零五百"), ("12345678", "一千二百三十四万五千六百七十八"), ("100000001", "一亿零一")],
        *[("10" * 11, "一零" * 11), ("007", "零零七"), ("200", "二百"), ("22", "二十二"), ("110000", "十一万")],
    ],
)
def test_place_values(digits, words):
    assert cardinal(digits) == words
